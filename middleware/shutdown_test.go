package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

var noOptions = deadletter.ReplayOptions{}

func goexit() { runtime.Goexit() }

// A deploy must not poison healthy messages: nothing is dead-lettered, no
// attempt is counted, the message comes again.
func TestShutdownPoisonsNothing(t *testing.T) {
	for name, handle := range map[string]func(context.Context) error{
		"handler returns the context's error": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"handler returns an error of its own": func(ctx context.Context) error { <-ctx.Done(); return errors.New("query cancelled") },
		"handler says permanent":              func(ctx context.Context) error { <-ctx.Done(); return idem.Permanent(ctx.Err()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{drain: time.Second}, func(b *bench) {
				op := idem.Operation{Policy: idem.Policy{MaxAttempts: 1, Timeout: time.Hour}}
				b.handle(op, func(ctx context.Context, m idem.Message[order]) error { return handle(ctx) })
				b.start()
				b.publish(order{ID: "1"})
				b.settle(time.Millisecond)
				if err := b.halt(); err == nil || !strings.Contains(err.Error(), "drain") {
					t.Errorf("Run ended with %v, want an error that tells of the drain", err)
				}
				b.wantDead()
				b.wantBacklog("orders", "billing", 1)
				b.restart(benchOptions{})
				b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
					if m.Attempt != 1 {
						t.Errorf("attempt %d after the restart, want 1", m.Attempt)
					}
					effect(ctx, m.Payload.ID)
					return nil
				})
				b.start()
				b.settle(time.Minute)
				b.wantEffects(map[string]int64{"1": 1})
				b.wantBacklog("orders", "billing", 0)
			})
		})
	}
}

func TestDrainLetsHandlersFinish(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		op := idem.Operation{Concurrency: 2}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			effect(ctx, m.Payload.ID)
			return nil
		})
		b.start()
		b.publish(order{ID: "1"}, order{ID: "2"}, order{ID: "3"}, order{ID: "4"})
		b.settle(time.Second)
		if err := b.halt(); err != nil {
			t.Fatalf("drain: %v", err)
		}
		b.wantEffects(map[string]int64{"1": 1, "2": 1, "3": 0, "4": 0})
		b.wantBacklog("orders", "billing", 2)
	})
}

// While an outcome cannot be stored the message stays in hand, the pauses
// grow, and the handler does not run again.
func TestDeadLetterThatCannotBeStoredHoldsTheSource(t *testing.T) {
	var broken atomic.Bool
	var fails atomic.Int32
	var at []time.Time
	fault := func(p memory.Point) error {
		if broken.Load() && p == memory.BeforeCommit {
			at = append(at, time.Now())
			if fails.Add(1) == 3 {
				broken.Store(false)
			}
			return errors.New("disk full")
		}
		return nil
	}
	inBubble(t, benchOptions{fault: fault}, func(b *bench) {
		var calls atomic.Int32
		b.handle(idem.Operation{}, func(context.Context, idem.Message[order]) error {
			calls.Add(1)
			broken.Store(true)
			return idem.Permanent(errBlip)
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(time.Minute)
		b.wantDead(idem.ReasonPermanent)
		b.wantBacklog("orders", "billing", 0)
		if calls.Load() != 1 || fails.Load() != 3 {
			t.Errorf("handler ran %d times, storing failed %d times; want 1 and 3", calls.Load(), fails.Load())
		}
	})
}

func TestShutdownWhileAnOutcomeCannotBeStored(t *testing.T) {
	var broken atomic.Bool
	fault := func(p memory.Point) error {
		if broken.Load() && p == memory.BeforeCommit {
			return errors.New("disk full")
		}
		return nil
	}
	inBubble(t, benchOptions{fault: fault, drain: 100 * time.Millisecond}, func(b *bench) {
		b.handle(idem.Operation{}, func(context.Context, idem.Message[order]) error {
			broken.Store(true)
			return idem.Permanent(errBlip)
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(50 * time.Millisecond)
		if err := b.halt(); err == nil {
			t.Error("Run ended with nil, want an error that tells of the drain")
		}
		broken.Store(false)
		b.wantDead()
		b.wantBacklog("orders", "billing", 1)
	})
}

// A message that failed because it took too long is dead-lettered although
// its context is dead, with its correlation and trace intact.
func TestTimeoutIsDeadLetteredWithItsTrace(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 1, Timeout: time.Second}}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			<-ctx.Done()
			return ctx.Err()
		})
		b.start()
		trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		b.publishRaw("orders", idem.Envelope{Headers: []idem.Header{
			{Name: idem.HeaderCorrelationID, Value: []byte("c-1")}, {Name: "traceparent", Value: []byte(trace)},
		}}, []byte(`{"id":"1"}`))
		b.settle(time.Minute)
		dead := b.wantDead(idem.ReasonExhausted)
		if dead[0].CorrelationID != "c-1" || dead[0].TraceParent != trace {
			t.Errorf("dead letter lost its links: %+v", dead[0])
		}
	})
}

// Each try has a fresh context, and sees nothing of what an earlier try did to
// payload or headers; neither does the dead letter.
func TestTriesDoNotShareState(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var calls int
		op := withDefaults(idem.Operation{Policy: idem.Policy{MaxAttempts: 2, Timeout: 50 * time.Millisecond, Quick: 1}})
		err := idem.Register(b.app, op, idem.HandlerFunc[[]byte](func(ctx context.Context, m idem.Message[[]byte]) error {
			calls++
			if string(m.Payload) != `{"id":"1"}` || string(m.Headers()[0].Value) != "b" || ctx.Err() != nil {
				t.Errorf("try %d sees payload %q, headers %q, context %v", calls, m.Payload, m.Headers(), ctx.Err())
			}
			clear(m.Payload)
			clear(m.Headers()[0].Value)
			<-ctx.Done()
			return ctx.Err()
		}))
		if err != nil {
			t.Fatal(err)
		}
		b.start()
		b.publishRaw("orders", idem.Envelope{Headers: []idem.Header{{Name: "a", Value: []byte("b")}}}, []byte(`{"id":"1"}`))
		b.settle(time.Minute)
		if calls != 2 {
			t.Errorf("%d tries, want 2", calls)
		}
		dead := b.wantDead(idem.ReasonExhausted)
		if string(dead[0].Payload) != `{"id":"1"}` || string(dead[0].Envelope.Headers[0].Value) != "b" {
			t.Errorf("dead letter was changed: %q %q", dead[0].Payload, dead[0].Envelope.Headers)
		}
	})
}

// A transient failure is spaced, a permanent one runs once: no hot loop.
func TestNothingSpins(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var calls atomic.Int32
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 1 << 30, Backoff: idem.Backoff{Base: time.Second, Max: time.Second}}}
		b.handle(op, func(context.Context, idem.Message[order]) error { calls.Add(1); return errBlip })
		b.start()
		b.publish(order{ID: "1"})
		b.settle(10 * time.Second)
		// Full jitter below 1 s: 20 rounds on average, each with up to 3 tries.
		if n := calls.Load(); n < 10 || n > 200 {
			t.Errorf("%d calls in 10 s", n)
		}
	})
}

// A backoff of ten minutes must not hold up the end of the process.
func TestWaitingEndsWithTheApplication(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		op := idem.Operation{Policy: idem.Policy{Quick: -1, Backoff: idem.Backoff{Base: 10 * time.Minute, Max: 10 * time.Minute}}}
		b.handle(op, func(context.Context, idem.Message[order]) error { return errBlip })
		b.start()
		b.publish(order{ID: "1"})
		b.settle(time.Second)
		begin := time.Now()
		if err := b.halt(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if d := time.Since(begin); d > 100*time.Millisecond {
			t.Errorf("the end took %v", d)
		}
	})
}

// The answer to COMMIT is lost: whether it took effect is read back by the
// attempt's own token, never guessed.
func TestUnknownCommit(t *testing.T) {
	for point, wantCalls := range map[memory.Point]int32{memory.LostCommit: 2, memory.LostReply: 1} {
		t.Run(string(point), func(t *testing.T) {
			var once, armed atomic.Bool
			fault := func(p memory.Point) error {
				if p == point && armed.Load() && once.CompareAndSwap(false, true) {
					return errors.New("connection reset")
				}
				return nil
			}
			inBubble(t, benchOptions{fault: fault}, func(b *bench) {
				var calls atomic.Int32
				b.handle(idem.Operation{Policy: idem.Policy{MaxAttempts: 1}}, func(ctx context.Context, m idem.Message[order]) error {
					calls.Add(1)
					armed.Store(true)
					effect(ctx, m.Payload.ID)
					return nil
				})
				b.start()
				b.publish(order{ID: "1"})
				b.settle(time.Minute)
				b.wantEffects(map[string]int64{"1": 1})
				b.wantBacklog("orders", "billing", 0)
				b.wantDead()
				if calls.Load() != wantCalls {
					t.Errorf("handler ran %d times, want %d", calls.Load(), wantCalls)
				}
			})
		})
	}
}

// A database that is down for a minute costs no attempt and no dead letter,
// and is not hammered.
func TestStoreOutage(t *testing.T) {
	var down atomic.Bool
	var knocks atomic.Int32
	fault := func(p memory.Point) error {
		if down.Load() && p == memory.AtBegin {
			knocks.Add(1)
			return errors.New("connection refused")
		}
		return nil
	}
	inBubble(t, benchOptions{fault: fault}, func(b *bench) {
		b.handle(idem.Operation{Policy: idem.Policy{MaxAttempts: 1}}, func(ctx context.Context, m idem.Message[order]) error {
			effect(ctx, "all")
			return nil
		})
		b.start()
		down.Store(true)
		for i := range 100 {
			b.publish(order{ID: fmt.Sprint(i)})
		}
		b.settle(time.Minute)
		if n := knocks.Load(); n == 0 || n > 300 {
			t.Errorf("the database was tried %d times in a minute", n)
		}
		down.Store(false)
		b.settle(2 * time.Minute)
		b.wantEffects(map[string]int64{"all": 100})
		b.wantDead()
	})
}

// A handler that is always too slow and does not look at its context is
// counted, although each run ends well: it does not run for ever.
func TestTooSlowForItsTimeout(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		calls := 0
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 3, Timeout: time.Second}}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			calls++
			time.Sleep(2 * time.Second)
			effect(ctx, m.Payload.ID)
			return nil
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(10 * time.Minute)
		b.wantDead(idem.ReasonExhausted)
		b.wantEffects(map[string]int64{"1": 0})
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
	})
}

// Our own words in a handler's mouth neither lose the message nor spin.
func TestSentinelsFromHandlers(t *testing.T) {
	for _, word := range []error{idem.ErrShuttingDown, idem.ErrLeaseLost, idem.ErrInFlight, idem.ErrStore, idem.ErrUnknownCommit, idem.ErrUnavailable} {
		t.Run(word.Error(), func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				var calls atomic.Int32
				var fixed atomic.Bool
				b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
					calls.Add(1)
					if !fixed.Load() {
						return word
					}
					effect(ctx, m.Payload.ID)
					return nil
				})
				b.start()
				b.publish(order{ID: "1"})
				b.settle(time.Minute)
				if n := calls.Load(); n == 0 || n > 100 {
					t.Errorf("%d calls in a minute", n)
				}
				fixed.Store(true)
				b.settle(2 * time.Minute)
				b.wantEffects(map[string]int64{"1": 1})
				b.wantBacklog("orders", "billing", 0)
			})
		})
	}
}

// A subscription that cannot begin ends Run at once, with the reason.
func TestSubscriptionThatCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, benchOptions{app: func(c *idem.AppConfig) { c.Transport = deaf{c.Transport} }})
		b.handle(idem.Operation{}, nothing)
		begin := time.Now()
		err := b.app.Run(b.t.Context())
		if err == nil || !strings.Contains(err.Error(), "no ears") {
			t.Errorf("Run ended with %v", err)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("after %v", d)
		}
		b.stop()
	})
}

// deaf is a transport whose subscriptions fail.
type deaf struct{ idem.Transport }

func (deaf) Subscriber(idem.SubscriberConfig) (message.Subscriber, error) { return deafEars{}, nil }

type deafEars struct{}

func (deafEars) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return nil, errors.New("no ears")
}

func (deafEars) Close() error { return nil }

// What was delivered again and again without an outcome, most likely because it
// kills its process, is parked.
func TestMessageThatKillsItsProcess(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{Policy: idem.Policy{MaxDeliveries: 3}}, nothing)
		b.publish(order{ID: "1"})
		// Three members of the group take it and die with it.
		for range 3 {
			sub, err := b.transport.Subscriber(idem.SubscriberConfig{Group: "billing", Lease: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			msgs, err := sub.Subscribe(b.t.Context(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			(<-msgs).Nack() // not asked for: the delivery stays counted
			if err := sub.Close(); err != nil {
				t.Fatal(err)
			}
		}
		b.start()
		b.settle(10 * time.Minute)
		b.wantDead(idem.ReasonDeliveryLimit)
		b.wantBacklog("orders", "billing", 0)
	})
}
