package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"time"

	"github.com/idem-go/idem/framework/idem"
)

var errBlip = errors.New("blip")

func TestDuplicatesTakeEffectOnce(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			effect(ctx, m.Payload.ID)
			return nil
		})
		b.start()
		for range 3 {
			b.publish(order{ID: "1", Total: 10}, order{ID: "2", Total: 20})
		}
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"1": 1, "2": 1})
		b.wantBacklog("orders", "billing", 0)
		if got := b.count(idem.Duplicate); got != 4 {
			t.Errorf("%d duplicates, want 4", got)
		}
	})
}

func TestFailedAttemptLeavesNothingAndIsRetried(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"error":  func(context.Context) error { return errBlip },
		"panic":  func(context.Context) error { panic("boom") },
		"cancel": func(context.Context) error { return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				var calls atomic.Int32
				b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, m.Payload.ID)
					if calls.Add(1) == 1 {
						return fail(ctx)
					}
					return nil
				})
				b.start()
				b.publish(order{ID: "1"})
				b.settle(time.Minute)
				b.wantEffects(map[string]int64{"1": 1})
				b.wantBacklog("orders", "billing", 0)
				if got := calls.Load(); got != 2 {
					t.Errorf("handler ran %d times, want 2", got)
				}
				b.wantDead()
			})
		})
	}
}

// The loser of a race waits; when the winner rolls back it runs, and it never
// acks before an outcome is committed.
func TestRaceHasOneWinner(t *testing.T) {
	for _, winnerFails := range []bool{false, true} {
		t.Run(fmt.Sprintf("winner fails %v", winnerFails), func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				var running, most, calls atomic.Int32
				release := make(chan struct{})
				b.handle(idem.Operation{Unordered: true, Policy: idem.Policy{Quick: -1}}, func(ctx context.Context, m idem.Message[order]) error {
					n := running.Add(1)
					defer running.Add(-1)
					most.Store(max(most.Load(), n))
					effect(ctx, m.Payload.ID)
					if calls.Add(1) == 1 {
						<-release
						if winnerFails {
							return errBlip
						}
					}
					return nil
				})
				b.start()
				for range 4 {
					b.publish(order{ID: "1"})
				}
				b.settle(time.Second)
				b.wantBacklog("orders", "billing", 4)
				close(release)
				b.settle(time.Minute)
				b.wantEffects(map[string]int64{"1": 1})
				b.wantBacklog("orders", "billing", 0)
				if most.Load() != 1 {
					t.Errorf("%d handlers ran at once, want 1", most.Load())
				}
			})
		})
	}
}

func TestKeysAreScopedByConsumer(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		for _, name := range []string{"billing", "mail"} {
			b.handle(idem.Operation{Name: name}, func(ctx context.Context, m idem.Message[order]) error {
				effect(ctx, name)
				return nil
			})
		}
		b.start()
		b.publish(order{ID: "1"}, order{ID: "1"})
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"billing": 1, "mail": 1})
	})
}

func TestMissingKeyPolicies(t *testing.T) {
	for policy, want := range map[idem.MissingKey]struct {
		effects int64
		dead    []string
		paused  bool
	}{
		idem.MissingDeadLetters: {0, []string{idem.ReasonMissingKey, idem.ReasonMissingKey, idem.ReasonMissingKey}, false},
		idem.MissingDerives:     {3, nil, false},
		idem.MissingFails:       {0, nil, true},
	} {
		t.Run(string(policy), func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				op := idem.Operation{Key: idem.KeyFrom(idem.FromHeader("event-id")), OnMissingKey: policy}
				b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, "any")
					return nil
				})
				b.start()
				for i, h := range [][]idem.Header{nil, {{Name: "event-id"}}, {{Name: "event-id", Value: []byte("  ")}}} {
					b.publishRaw("orders", idem.Envelope{Headers: h}, fmt.Appendf(nil, `{"id":"%d"}`, i))
				}
				b.settle(10 * time.Second)
				b.wantEffects(map[string]int64{"any": want.effects})
				for _, d := range b.wantDead(want.dead...) {
					if d.Key != "" {
						t.Errorf("dead letter has the key %q", d.Key)
					}
				}
				if paused := b.app.Consumer("billing").Gate.Paused() != ""; paused != want.paused {
					t.Errorf("paused: %v, want %v", paused, want.paused)
				}
			})
		})
	}
}

func TestKeyReuseIsLoud(t *testing.T) {
	for _, during := range []bool{false, true} {
		t.Run(fmt.Sprintf("while the first runs %v", during), func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				release := make(chan struct{})
				b.handle(idem.Operation{Unordered: true}, func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, fmt.Sprint(m.Payload.Total))
					<-release
					return nil
				})
				b.start()
				b.publish(order{ID: "9", Total: 200})
				b.settle(time.Millisecond)
				if !during {
					close(release)
					b.settle(time.Second)
				}
				b.publish(order{ID: "9", Total: 500})
				b.settle(time.Second)
				if during {
					close(release)
				}
				b.settle(time.Minute)
				b.wantEffects(map[string]int64{"200": 1, "500": 0})
				dead := b.wantDead(idem.ReasonKeyReuse)
				if err := b.letters.Replay(b.t.Context(), dead[0].ID, noOptions); !errors.Is(err, idem.ErrAlreadyDone) {
					t.Errorf("replay of a reused key: %v, want ErrAlreadyDone", err)
				}
			})
		})
	}
}

// Other content under a known key may be declared to be noise: it is discarded
// with audit, whether the first message is done, running or waiting.
func TestKeyReuseIsDiscarded(t *testing.T) {
	for name, first := range map[string]func(calls int32) error{
		"done":    func(int32) error { return nil },
		"waiting": func(n int32) error { return errIf(n == 1, idem.Transient(idem.RetryAfter(errBlip, time.Hour))) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				var calls atomic.Int32
				op := idem.Operation{Unordered: true, OnKeyReuse: idem.ReuseDiscards}
				b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, fmt.Sprint(m.Payload.Total))
					return first(calls.Add(1))
				})
				b.start()
				copies := b.tap("orders.dlq")
				b.publish(order{ID: "9", Total: 200})
				b.settle(time.Minute)
				b.publish(order{ID: "9", Total: 500})
				b.settle(time.Minute)
				d := b.wantDead(idem.ReasonKeyReuse)[0]
				if d.State != idem.DeadLetterDiscarded || d.Class != idem.ClassIgnorable || string(d.Payload) != `{"id":"9","total":500}` || len(copies()) != 0 {
					t.Errorf("%s %s %q and %d copies, want an audited discard of the second message alone", d.State, d.Class, d.Payload, len(copies()))
				}
				b.settle(2 * time.Hour)
				b.wantEffects(map[string]int64{"200": 1, "500": 0})
				b.wantBacklog("orders", "billing", 0)
				if got := b.count(idem.Discard); got != 1 {
					t.Errorf("%d discards, want 1", got)
				}
			})
		})
	}
}

func TestPermanentErrorRunsOnce(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var calls atomic.Int32
		b.handle(idem.Operation{}, func(context.Context, idem.Message[order]) error {
			calls.Add(1)
			return fmt.Errorf("outer: %w", errors.Join(errBlip, idem.Permanent(errors.New("no such customer"))))
		})
		b.start()
		b.publish(order{ID: "1", Total: 7})
		b.settle(time.Minute)
		dead := b.wantDead(idem.ReasonPermanent)
		if calls.Load() != 1 {
			t.Errorf("handler ran %d times, want 1", calls.Load())
		}
		if string(dead[0].Payload) != `{"id":"1","total":7}` || dead[0].Key != "1" || dead[0].State != idem.DeadLetterParked {
			t.Errorf("dead letter %+v", dead[0])
		}
		b.wantBacklog("orders", "billing", 0)
	})
}

func TestAttemptsAreBoundedAndSurviveARestart(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var calls atomic.Int32
		fail := func(context.Context, idem.Message[order]) error { calls.Add(1); return errBlip }
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 3, Quick: -1, Backoff: idem.Backoff{Base: time.Hour, Max: time.Hour}}}
		b.handle(op, fail)
		b.start()
		b.publish(order{ID: "1"})
		b.settle(time.Second)
		if err := b.halt(); err != nil {
			t.Fatal(err)
		}
		if calls.Load() != 1 {
			t.Fatalf("%d calls before the restart, want 1", calls.Load())
		}
		b.restart(benchOptions{})
		b.handle(op, fail)
		b.start()
		b.settle(5 * time.Hour)
		if calls.Load() != 3 {
			t.Errorf("%d calls in all, want 3", calls.Load())
		}
		dead := b.wantDead(idem.ReasonExhausted)
		if dead[0].Attempts != 3 {
			t.Errorf("dead letter says %d attempts, want 3", dead[0].Attempts)
		}
	})
}

// Every end of a delivery settles it exactly once and leaves the queue as the
// outcome says.
func TestEveryEndSettles(t *testing.T) {
	for name, tc := range map[string]struct {
		handle  func(context.Context) error
		outcome idem.Kind
		backlog int
	}{
		"success":   {func(context.Context) error { return nil }, idem.Done, 0},
		"permanent": {func(context.Context) error { return idem.Permanent(errBlip) }, idem.Dead, 0},
		"ignored":   {func(context.Context) error { return idem.Ignore(errBlip) }, idem.Discard, 0},
		"transient": {func(context.Context) error { return errBlip }, idem.Retry, 1},
		"down":      {func(context.Context) error { return idem.DependencyDown(errBlip) }, idem.Unavailable, 1},
		"limited":   {func(context.Context) error { return idem.RetryAfter(errBlip, time.Hour) }, idem.Unavailable, 1},
		"panic":     {func(context.Context) error { panic("boom") }, idem.Pause, 1},
		"goexit":    {func(context.Context) error { goexit(); return nil }, idem.Pause, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				attempts := 2
				if tc.outcome == idem.Pause {
					attempts = 1
				}
				op := idem.Operation{Policy: idem.Policy{MaxAttempts: attempts, Quick: -1, Backoff: idem.Backoff{Base: time.Hour, Max: time.Hour}}}
				b.handle(op, func(ctx context.Context, m idem.Message[order]) error { return tc.handle(ctx) })
				b.start()
				b.publish(order{ID: "1"})
				b.settle(100 * time.Millisecond)
				b.mu.Lock()
				seen := len(b.seen)
				b.mu.Unlock()
				if seen != 1 || b.count(tc.outcome) != 1 {
					t.Errorf("settled %d times, as %v; want once as %s", seen, b.seen, tc.outcome)
				}
				b.wantBacklog("orders", "billing", tc.backlog)
			})
		})
	}
}

func TestPausedConsumerGoesOnAfterTheFix(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var fixed atomic.Bool
		var calls atomic.Int32
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 3}}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			if m.Payload.ID == "bad" && !fixed.Load() {
				calls.Add(1)
				panic("index out of range")
			}
			effect(ctx, m.Payload.ID)
			return nil
		})
		b.start()
		b.publish(order{ID: "bad"})
		b.settle(time.Hour)
		if calls.Load() != 3 {
			t.Errorf("handler panicked %d times before the pause, want its 3 attempts", calls.Load())
		}
		b.publish(order{ID: "good"})
		b.settle(time.Hour)
		b.wantEffects(map[string]int64{"bad": 0, "good": 0})
		if err := b.app.Ready(b.t.Context()); err == nil {
			t.Error("ready although a consumer is paused")
		}
		b.wantDead()
		fixed.Store(true)
		b.app.Consumer("billing").Gate.Resume()
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"bad": 1, "good": 1})
		b.wantBacklog("orders", "billing", 0)
		b.wantDead()
	})
}

// What a goroutine of the handler emits too late is refused, not lost in silence.
func TestEmitAfterTheHandlerIsRefused(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		late := make(chan error, 1)
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			go func() {
				time.Sleep(time.Second) // bubble time: long after the handler
				late <- idem.Emit(ctx, idem.Event{Topic: "other", Payload: m.Payload})
			}()
			return idem.Emit(ctx, idem.Event{Topic: "other", Payload: m.Payload})
		})
		b.start()
		got := b.tap("other")
		b.publish(order{ID: "1"})
		b.settle(time.Minute)
		if err := <-late; err == nil {
			t.Error("an event emitted after the commit was accepted")
		}
		if len(got()) != 1 {
			t.Errorf("%d events, want 1", len(got()))
		}
	})
}
