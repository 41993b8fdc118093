package middleware_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

// duel is one external consumer as two processes would run it, step by step.
type duel struct {
	t       *testing.T
	store   *memory.Store
	c       *idem.Consumer
	gateway *gateway
}

func newDuel(t *testing.T, answer func(call int) (bool, error)) *duel {
	t.Helper()
	d := &duel{t: t, store: memory.New(memory.Config{}), gateway: newGateway(answer)}
	e, err := idem.NewEngine(d.store, nil, idem.Classifier{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	op := withDefaults(idem.Operation{Policy: idem.Policy{Timeout: time.Minute}})
	if d.c, err = idem.NewExternalConsumer[order, receipt](e, op, unlocked{d.gateway}); err != nil {
		t.Fatal(err)
	}
	return d
}

// unlocked lets two calls be under way at once.
type unlocked struct{ *gateway }

func (u unlocked) Call(_ context.Context, m idem.Message[order]) (receipt, error) {
	u.mu.Lock()
	u.calls++
	n := u.calls
	u.mu.Unlock()
	applied, err := u.answer(n)
	u.mu.Lock()
	defer u.mu.Unlock()
	if applied {
		u.charges[m.Key]++
	}
	return receipt{Number: "r-" + m.Key}, err
}

func (d *duel) delivery(attempt int) *message.Message {
	m := message.NewMessage("m", []byte(`{"id":"1"}`))
	m.SetContext(idem.WithDelivery(d.t.Context(), &idem.Delivery{Topic: "orders", Group: "billing", Attempt: attempt, Position: "1"}))
	return m
}

func (d *duel) record(m *message.Message, cause error) (idem.Outcome, error) {
	class := d.c.Engine().Classify(d.t.Context(), cause)
	return d.c.Record(d.t.Context(), d.c.Attempt(m), idem.Decide(class, 1, d.c.Policy), cause, -1)
}

// While one attempt writes down that its call was refused, another has begun
// its own call: neither a retry nor a dead letter may touch its record.
func TestRecordSparesACallUnderWay(t *testing.T) {
	for name, refusal := range map[string]error{
		"retry": idem.NotApplied(errors.New("connection refused")), "dead letter": idem.Permanent(errors.New("card declined")),
	} {
		t.Run(name, func(t *testing.T) {
			begun, goOn := make(chan struct{}), make(chan struct{})
			d := newDuel(t, func(call int) (bool, error) {
				if call == 1 {
					return false, refusal
				}
				close(begun)
				<-goOn
				return true, nil
			})
			first := d.delivery(1)
			refused := d.c.Process(first)
			second := make(chan error)
			go func() { second <- d.c.Process(d.delivery(1)) }()
			<-begun
			if _, err := d.record(first, refused); !errors.Is(err, idem.ErrInFlight) {
				t.Errorf("recorded over a call under way: %v", err)
			}
			close(goOn)
			if err := <-second; err != nil {
				t.Errorf("the call under way ended with %v", err)
			}
			if err := d.c.Process(d.delivery(2)); err != nil {
				t.Errorf("redelivery: %v", err)
			}
			if d.gateway.charges["1"] != 1 || d.store.Sum("effect:r-1") != 1 {
				t.Errorf("%d charges, %d effects; want 1 and 1", d.gateway.charges["1"], d.store.Sum("effect:r-1"))
			}
		})
	}
}

// A process that dies with every call is parked as what it is: a call whose
// outcome nobody knows. A plain replay does not charge again.
func TestDeliveryLimitOfAnUnknownCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDuel(t, func(int) (bool, error) { panic("the process dies") })
		func() {
			defer func() { _ = recover() }()
			_ = d.c.Process(d.delivery(1))
		}()
		time.Sleep(2 * time.Minute) // the lease of the intent runs out
		m := d.delivery(51)
		if _, err := d.record(m, d.c.Process(m)); err != nil {
			t.Fatal(err)
		}
		letters, err := d.store.ListDeadLetters(t.Context(), idem.DeadLetterQuery{})
		if err != nil || len(letters) != 1 || letters[0].Reason != idem.ReasonUnknownOutcome {
			t.Fatalf("dead letters %+v, %v", letters, err)
		}
		if err := deadletter.New(d.store, 0).Replay(t.Context(), letters[0].ID, noOptions); err != nil {
			t.Fatal(err)
		}
		_ = d.c.Process(d.delivery(1)) // parked again: anything but a call
		if d.gateway.calls != 1 {
			t.Errorf("%d calls, want 1", d.gateway.calls)
		}
	})
}

// However short a window is told: one message never spins.
func TestTinyRetryAfterDoesNotSpin(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		runs := 0
		b.handle(idem.Operation{}, func(context.Context, idem.Message[order]) error {
			runs++
			return idem.RetryAfter(errors.New("429"), time.Microsecond)
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(time.Second)
		if runs < 10 || runs > 101 {
			t.Errorf("%d runs in a second", runs)
		}
	})
}

func TestEmitRefusesWhatCannotBePublished(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		errs := map[string]error{}
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			errs["too large"] = idem.Emit(ctx, idem.Event{Topic: "x", Payload: make([]byte, 17<<20)})
			errs["id with NUL"] = idem.Emit(ctx, idem.Event{Topic: "x", ID: "a\x00b"})
			errs["long id"] = idem.Emit(ctx, idem.Event{Topic: "x", ID: string(make([]byte, 10_000))})
			if err := idem.Emit(ctx, idem.Event{Topic: "x", ID: "same"}); err != nil {
				t.Error(err)
			}
			if err := idem.Emit(ctx, idem.Event{Topic: "y", ID: "same"}); err != nil {
				t.Error(err)
			}
			errs["the same id"] = idem.Emit(ctx, idem.Event{Topic: "x", ID: "same"})
			return nil
		})
		b.start()
		x, y := b.tap("x"), b.tap("y")
		b.publish(order{ID: "1"})
		b.settle(time.Minute)
		for what, err := range errs {
			if err == nil {
				t.Errorf("%s: accepted", what)
			}
		}
		if len(x()) != 1 || len(y()) != 1 {
			t.Errorf("%d and %d events, want 1 and 1", len(x()), len(y()))
		}
	})
}
