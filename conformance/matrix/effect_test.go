package matrix

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

var errBlip = errors.New("blip")

// A handler that writes and then fails twice leaves one effect, not three.
func TestFailedAttemptsLeaveNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		var calls atomic.Int32
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				if err := p.effect(ctx, m.Payload.ID); err != nil {
					return err
				}
				if calls.Add(1) <= 2 {
					return errBlip
				}
				return nil
			}
		}).start()
		p.publish("1")
		p.awaitEffects("1")
		if calls.Load() != 3 {
			t.Errorf("handler ran %d times, want 3", calls.Load())
		}
	})
}

// Two processes share a stream in which every event comes three times.
func TestDuplicatesOverTwoProcesses(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		handle := func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error { return p.effect(ctx, m.Payload.ID) }
		}
		a := w.process(t, w.operation("billing"), handle).start()
		b := w.process(t, w.operation("billing"), handle).start()
		all := ids(60)
		for range 3 {
			a.publish(all...)
		}
		a.awaitEffects(all...)
		a.await("duplicates", func() (bool, any) {
			n := a.count(idem.Duplicate) + b.count(idem.Duplicate)
			return n >= 120, n
		})
		a.wantOnce(all...)
	})
}

// Two consumers of one topic each get every message, and a consumer that
// comes late gets what was published before.
func TestEveryGroupGetsEveryMessage(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		all := ids(20)
		var early, late atomic.Int32
		counting := func(n *atomic.Int32) func(*proc) idem.HandlerFunc[event] {
			return func(p *proc) idem.HandlerFunc[event] {
				return func(context.Context, idem.Message[event]) error { n.Add(1); return nil }
			}
		}
		a := w.process(t, w.operation("early"), counting(&early)).start()
		a.publish(all...)
		a.await("first consumer", func() (bool, any) { return early.Load() == 20, early.Load() })
		b := w.process(t, w.operation("late"), counting(&late)).start()
		b.await("second consumer", func() (bool, any) { return late.Load() == 20, late.Load() })
	})
}

// The events of one key take effect in order, also when one of them fails.
func TestOrderByKeySurvivesRetries(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var order []int64
		failed := map[int64]bool{}
		op := w.operation("billing")
		op.Key = idem.KeyFrom(idem.FromPayload("/amount"))
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				mu.Lock()
				defer mu.Unlock()
				if n := m.Payload.Amount; n%3 == 0 && !failed[n] {
					failed[n] = true
					return idem.Transient(idem.RetryAfter(errBlip, 100*time.Millisecond))
				}
				order = append(order, m.Payload.Amount)
				return nil
			}
		}).start()
		const n = 12
		for i := range n {
			p.publishRaw("same", fmt.Appendf(nil, `{"id":"a","amount":%d}`, i))
		}
		p.await("all", func() (bool, any) {
			mu.Lock()
			defer mu.Unlock()
			return len(order) == n, len(order)
		})
		mu.Lock()
		defer mu.Unlock()
		for i, v := range order {
			if v != int64(i) {
				t.Fatalf("handled in the order %v", order)
			}
		}
	})
}

// A replay of a dead letter comes back to its consumer under the same key.
func TestReplay(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		var fixed atomic.Bool
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				if !fixed.Load() {
					return idem.Permanent(errBlip)
				}
				return p.effect(ctx, m.Key)
			}
		}).start()
		p.publish("1")
		p.awaitDead(1)
		fixed.Store(true)
		list, err := p.DeadLetters.List(t.Context(), idem.DeadLetterQuery{})
		must(t, err)
		must(t, p.DeadLetters.Replay(t.Context(), list[0].ID, deadletter.ReplayOptions{}))
		p.awaitEffects("1")
		p.publish("1") // the original producer sends once more
		p.await("duplicate", func() (bool, any) { n := p.count(idem.Duplicate); return n == 1, n })
		p.wantOnce("1")
	})
}

func TestMain(m *testing.M) {
	runChild()
	goleak.VerifyTestMain(m, // one for each process, started by a dependency of sarama
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
