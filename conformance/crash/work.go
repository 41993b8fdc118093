package crash

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// event is a message of the certificate.
type event struct {
	ID string `json:"id"`
}

// The kinds of the ledger.
const (
	kindEffect = "effect"
	kindEvent  = "event" // what a handler emitted, as it took effect at the next consumer
	kindCall   = "call"  // to a third party, by idempotency key
	kindPaid   = "paid"  // what came of a call, in the handler's transaction
)

// names of a run's topics and consumers.
type names struct{ run string }

func (n names) work() string  { return n.run + ".work" }
func (n names) out() string   { return n.run + ".out" }
func (n names) calls() string { return n.run + ".calls" }

// fate is what becomes of a message, by its number.
func fate(id string) (retried, dead bool) {
	n, _ := strconv.Atoi(id)
	return n%10 == 3, n%10 == 7
}

var errFate = errors.New("this one fails, as it should")

// operation of a consumer: it notices soon that a process is dead.
func (n names) operation(name, topic string, mode idem.TransactionMode) idem.Operation {
	return idem.Operation{
		Name: name + "-" + n.run, Topic: topic, Key: idem.KeyFrom(idem.FromPayload("/id")), Transaction: mode,
		Policy: idem.Policy{
			// What a starved machine or a killed server fails is nobody's fault, and
			// it is killed more often than a limit would allow.
			Quick: -1, Timeout: 10 * time.Second, MaxAttempts: 1000, MaxDeliveries: -1,
			Backoff: idem.Backoff{Base: 20 * time.Millisecond, Max: 100 * time.Millisecond},
		},
	}
}

// register puts the consumers of the certificate on the application: one that
// writes and emits, one that reads what is emitted, one that calls outwards.
func register(p *pair, n names, mode idem.TransactionMode) error {
	work := n.operation("work", n.work(), mode)
	work.Emits = []string{n.out()}
	err := idem.Register(p.App, work, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
		err := errors.Join(p.add(ctx, n.run, kindEffect, m.Payload.ID), idem.Emit(ctx, idem.Event{Topic: n.out(), Payload: m.Payload}))
		if err != nil {
			return err
		}
		switch retried, dead := fate(m.Payload.ID); {
		case dead:
			return idem.Permanent(errFate)
		case retried && m.Attempt == 1:
			return errFate
		}
		return nil
	}))
	if err != nil {
		return err
	}
	err = idem.Register(p.App, n.operation("read", n.out(), mode), idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
		return p.add(ctx, n.run, kindEvent, m.Payload.ID)
	}))
	if err != nil {
		return err
	}
	call := n.operation("call", n.calls(), "")
	call.Policy.Timeout = 3 * time.Second // the intent's lease is as long and a little more
	return idem.RegisterExternal[event, receipt](p.App, call, &bank{pair: p, names: n})
}

// bank is a third party: what it was asked for stays, whoever asked and whatever
// became of them.
type bank struct {
	*pair
	names
}

type receipt struct {
	Number string `json:"number"`
}

// Call implements [idem.External].
func (b *bank) Call(ctx context.Context, m idem.Message[event]) (receipt, error) {
	return receipt{m.Key}, b.note(ctx, b.run, kindCall, m.Key)
}

// Reconcile implements [idem.Reconciler].
func (b *bank) Reconcile(ctx context.Context, m idem.Message[event]) (receipt, idem.CallOutcome, error) {
	seen, err := b.count(ctx, b.run)
	switch {
	case err != nil:
		return receipt{}, idem.CallUnknown, err
	case seen[kindCall][m.Key] > 0:
		return receipt{m.Key}, idem.CallApplied, nil
	}
	return receipt{}, idem.CallNotApplied, nil
}

// Apply implements [idem.External].
func (b *bank) Apply(ctx context.Context, m idem.Message[event], r receipt) error {
	if r.Number != m.Key {
		return fmt.Errorf("crash: receipt of %q for %q", r.Number, m.Key)
	}
	return b.add(ctx, b.run, kindPaid, m.Payload.ID)
}
