package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

// gateway is a third party that takes payments; its charges are what counts.
type gateway struct {
	mu      sync.Mutex
	charges map[string]int
	answer  func(call int) (applied bool, err error)
	calls   int
	applied func(ctx context.Context, id string) error // Apply's own failure
	panics  bool
}

type receipt struct {
	Number string `json:"number"`
}

func (g *gateway) Call(ctx context.Context, m idem.Message[order]) (receipt, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	applied, err := g.answer(g.calls)
	if applied {
		g.charges[m.Key]++
	}
	if g.panics && g.calls == 1 {
		panic("after the charge")
	}
	return receipt{Number: "r-" + m.Key}, err
}

func (g *gateway) Apply(ctx context.Context, m idem.Message[order], r receipt) error {
	if g.applied != nil {
		if err := g.applied(ctx, m.Payload.ID); err != nil {
			return err
		}
	}
	effect(ctx, r.Number)
	return nil
}

// asking is a gateway that can be asked what became of a charge.
type asking struct{ *gateway }

func (a asking) Reconcile(ctx context.Context, m idem.Message[order]) (receipt, idem.CallOutcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.charges[m.Key] > 0 {
		return receipt{Number: "r-" + m.Key}, idem.CallApplied, nil
	}
	return receipt{}, idem.CallNotApplied, nil
}

func newGateway(answer func(call int) (bool, error)) *gateway {
	return &gateway{charges: map[string]int{}, answer: answer}
}

func TestExternalEffect(t *testing.T) {
	timeout := errors.New("timeout")
	for name, tc := range map[string]struct {
		gateway  *gateway
		ask      bool
		dead     []string
		effects  int64
		charges  int
		maxCalls int
	}{
		"success": {gateway: newGateway(func(int) (bool, error) { return true, nil }), effects: 1, charges: 1, maxCalls: 1},
		"time-out after the charge, can ask": {
			gateway: newGateway(func(int) (bool, error) { return true, timeout }), ask: true, effects: 1, charges: 1, maxCalls: 1,
		},
		"time-out before the charge, can ask": {
			gateway: newGateway(func(n int) (bool, error) { return n > 1, errIf(n == 1, timeout) }), ask: true, effects: 1, charges: 1, maxCalls: 2,
		},
		"time-out, cannot ask: parked, never repeated": {
			gateway: newGateway(func(int) (bool, error) { return true, timeout }), dead: []string{idem.ReasonUnknownOutcome}, charges: 1, maxCalls: 1,
		},
		"refused for sure: repeated": {
			gateway: newGateway(func(n int) (bool, error) { return n > 2, errIf(n <= 2, idem.NotApplied(timeout)) }), effects: 1, charges: 1, maxCalls: 3,
		},
		"rate limited: repeated": {
			gateway: newGateway(func(n int) (bool, error) { return n > 2, errIf(n <= 2, idem.RetryAfter(timeout, time.Second)) }), effects: 1, charges: 1, maxCalls: 3,
		},
		"declined": {
			gateway: newGateway(func(int) (bool, error) { return false, idem.Permanent(errors.New("card stolen")) }), dead: []string{idem.ReasonPermanent}, maxCalls: 3, // copies that come at the same moment may ask, too
		},
		"panic after the charge, can ask": {
			gateway: &gateway{charges: map[string]int{}, answer: func(int) (bool, error) { return true, nil }, panics: true}, ask: true, effects: 1, charges: 1, maxCalls: 1,
		},
		"Apply fails at first: the charge is not repeated": {
			gateway: &gateway{charges: map[string]int{}, answer: func(int) (bool, error) { return true, nil }, applied: failTimes(2)}, effects: 1, charges: 1, maxCalls: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				register(t, b, tc.gateway, tc.ask)
				b.start()
				b.publish(order{ID: "1"}, order{ID: "1"}, order{ID: "1"})
				b.settle(10 * time.Minute)
				b.wantEffects(map[string]int64{"r-1": tc.effects})
				b.wantDead(tc.dead...)
				b.wantBacklog("orders", "billing", 0)
				if tc.gateway.charges["1"] != tc.charges || tc.gateway.calls > tc.maxCalls {
					t.Errorf("%d charges in %d calls, want %d in at most %d", tc.gateway.charges["1"], tc.gateway.calls, tc.charges, tc.maxCalls)
				}
			})
		})
	}
}

func register(t *testing.T, b *bench, g *gateway, ask bool) {
	t.Helper()
	op := withDefaults(idem.Operation{})
	var err error
	if ask {
		err = idem.RegisterExternal[order, receipt](b.app, op, asking{g})
	} else {
		err = idem.RegisterExternal[order, receipt](b.app, op, g)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The process dies between the call and the commit of its result: the next one
// waits for the lease of the intent, then asks.
func TestExternalCrashAfterTheCall(t *testing.T) {
	armed, fired := false, false
	fault := func(p memory.Point) error {
		if p == memory.AtBegin && armed && !fired {
			fired = true
			return errors.New("process died")
		}
		return nil
	}
	inBubble(t, benchOptions{fault: fault, drain: time.Second}, func(b *bench) {
		g := newGateway(func(int) (bool, error) { armed = true; return true, nil })
		register(t, b, g, true)
		b.start()
		b.publish(order{ID: "1"})
		b.settle(5 * time.Minute)
		b.wantEffects(map[string]int64{"r-1": 1})
		if g.charges["1"] != 1 || !fired {
			t.Errorf("%d charges, fault fired %v", g.charges["1"], fired)
		}
	})
}

// An operator who has looked at the third party may let the call be made
// again; without that a replay asks, and parks again.
func TestReplayOfAnUnknownOutcome(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		fail := true
		g := newGateway(func(int) (bool, error) {
			if fail {
				return false, errors.New("timeout")
			}
			return true, nil
		})
		register(t, b, g, false)
		b.start()
		b.publish(order{ID: "1"})
		b.settle(10 * time.Minute)
		first := b.wantDead(idem.ReasonUnknownOutcome)[0]
		fail = false
		if err := b.letters.Replay(b.t.Context(), first.ID, noOptions); err != nil {
			t.Fatal(err)
		}
		b.settle(10 * time.Minute)
		again := b.wantDead(idem.ReasonUnknownOutcome, idem.ReasonUnknownOutcome)[1]
		if g.charges["1"] != 0 || again.Replays != 1 {
			t.Fatalf("%d charges, %d replays after a replay that may not call", g.charges["1"], again.Replays)
		}
		yes := noOptions
		yes.AssumeNotApplied = true
		if err := b.letters.Replay(b.t.Context(), again.ID, yes); err != nil {
			t.Fatal(err)
		}
		b.settle(10 * time.Minute)
		b.wantEffects(map[string]int64{"r-1": 1})
		if g.charges["1"] != 1 {
			t.Errorf("%d charges, want 1", g.charges["1"])
		}
	})
}

func errIf(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}

func failTimes(n int) func(context.Context, string) error {
	return func(_ context.Context, id string) error {
		if n--; n >= 0 {
			return fmt.Errorf("apply %s: %w", id, errBlip)
		}
		return nil
	}
}
