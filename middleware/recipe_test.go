package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

// The key used to be the order's id, which took two orders for one; now it is
// the id and the total. To a program of the first recipe the key of order 1 is
// "1", to one of the second "v2:|1|10".
var (
	recipe1 = idem.KeyFrom(idem.FromPayload("/id"))
	recipe2 = idem.KeyRecipe{
		Version: 2, Parts: []idem.KeyPart{idem.FromPayload("/id"), idem.FromPayload("/total")},
		Previous: []idem.KeyRecipe{recipe1},
	}
)

// deploy replaces the program by one with this recipe.
func (b *bench) deploy(o benchOptions, op idem.Operation, h idem.HandlerFunc[order]) {
	b.t.Helper()
	if b.cancel != nil {
		must(b.t, b.halt())
		b.restart(o)
	}
	b.handle(op, h)
	b.start()
}

func takeEffect(ctx context.Context, m idem.Message[order]) error {
	effect(ctx, fmt.Sprintf("%s %d", m.Payload.ID, m.Payload.Total))
	return nil
}

func TestNewRecipeKnowsWhatTheOldOneProcessed(t *testing.T) {
	for name, none := range map[string]bool{"content counts": false, "key alone counts": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				op := idem.Operation{Key: recipe1, Fingerprint: idem.Fingerprint{None: none}}
				b.deploy(benchOptions{}, op, takeEffect)
				b.publish(order{ID: "1", Total: 10})
				b.settle(time.Second)
				op.Key = recipe2
				b.deploy(benchOptions{}, op, takeEffect)
				b.publish(order{ID: "1", Total: 10}, order{ID: "2", Total: 10}) // 2 is new to both
				b.settle(time.Second)
				b.wantEffects(map[string]int64{"1 10": 1, "2 10": 1})
				b.publish(order{ID: "1", Total: 20}, order{ID: "1", Total: 20}, order{ID: "2", Total: 10}) // 1 with 20 was swallowed by the old recipe
				b.settle(time.Second)
				want, duplicates := int64(1), 3
				if none {
					want, duplicates = 0, 4
				}
				b.wantEffects(map[string]int64{"1 10": 1, "1 20": want, "2 10": 1})
				if n := b.count(idem.Duplicate); n != duplicates {
					t.Errorf("%d duplicates, want %d", n, duplicates)
				}
				b.wantDead()
			})
		})
	}
}

// What counts as the same content may change with the recipe: each record is
// compared as it was made, by the new program and by the old one that comes back.
func TestNewRecipeWithAnotherFingerprint(t *testing.T) {
	whole, total, none := idem.Fingerprint{}, idem.Fingerprint{Pointers: []string{"/total"}}, idem.Fingerprint{None: true}
	for name, tc := range map[string]struct{ was, is idem.Fingerprint }{
		"whole, then pointers": {whole, total}, "pointers, then whole": {total, whole},
		"none, then pointers": {none, total}, "pointers, then none": {total, none},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				before := idem.Operation{Key: recipe1, Fingerprint: tc.was}
				b.deploy(benchOptions{}, before, takeEffect)
				b.publish(order{ID: "1", Total: 10})
				b.settle(time.Second)
				after := idem.Operation{Key: recipe2, Fingerprint: tc.is}
				after.Key.Previous = []idem.KeyRecipe{{Parts: recipe1.Parts, Fingerprint: &tc.was}}
				b.deploy(benchOptions{}, after, takeEffect)
				b.publish(order{ID: "1", Total: 10}, order{ID: "2", Total: 10}, order{ID: "2", Total: 10})
				b.settle(time.Second)
				b.deploy(benchOptions{}, before, takeEffect)
				b.publish(order{ID: "1", Total: 10}, order{ID: "2", Total: 10})
				b.settle(time.Second)
				b.wantEffects(map[string]int64{"1 10": 1, "2 10": 1})
				if n := b.count(idem.Duplicate); n != 4 {
					t.Errorf("%d duplicates, want 4", n)
				}
				b.wantDead()
			})
		})
	}
}

// In a rolling deployment the old program gets what the new one has begun, and
// back.
func TestOldProgramKnowsWhatTheNewOneDid(t *testing.T) {
	for name, tc := range map[string]struct {
		first error // of the first run, under the new recipe
		runs  int32
		dead  []string
	}{
		"done":      {nil, 1, nil},
		"failed":    {idem.Transient(idem.RetryAfter(errBlip, time.Minute)), 2, nil},
		"dead":      {idem.Permanent(errBlip), 1, []string{idem.ReasonPermanent}},
		"discarded": {idem.Ignore(errBlip), 1, []string{idem.ReasonIgnored}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				var runs atomic.Int32
				h := func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, m.Payload.ID)
					if runs.Add(1) == 1 {
						return tc.first
					}
					if want := int(runs.Load()); m.Attempt != want {
						t.Errorf("attempt %d, want %d", m.Attempt, want)
					}
					return nil
				}
				b.deploy(benchOptions{}, idem.Operation{Key: recipe2}, h)
				b.publish(order{ID: "1", Total: 10})
				b.settle(time.Second)
				b.deploy(benchOptions{}, idem.Operation{Key: recipe1}, h)
				b.publish(order{ID: "1", Total: 10})
				b.settle(time.Second) // before the first delivery comes back
				b.deploy(benchOptions{}, idem.Operation{Key: recipe2}, h)
				b.publish(order{ID: "1", Total: 10})
				b.settle(3 * time.Minute)
				if runs.Load() != tc.runs {
					t.Errorf("handler ran %d times, want %d", runs.Load(), tc.runs)
				}
				want := int64(1)
				if len(tc.dead) > 0 {
					want = 0
				}
				b.wantEffects(map[string]int64{"1": want})
				b.wantDead(tc.dead...)
				b.wantBacklog("orders", "billing", 0)
			})
		})
	}
}

// A message that began under the old recipe keeps its attempts and its key,
// which third parties and its events know it by.
func TestAttemptsAndKeyOutliveTheRecipe(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var keys []string
		h := func(_ context.Context, m idem.Message[order]) error {
			keys = append(keys, fmt.Sprint(m.Key, " ", m.Attempt))
			return idem.Transient(idem.RetryAfter(errBlip, time.Minute))
		}
		op := idem.Operation{Key: recipe1, Policy: idem.Policy{MaxAttempts: 4}}
		b.deploy(benchOptions{}, op, h)
		b.publish(order{ID: "1", Total: 10})
		b.settle(time.Second)
		op.Key = recipe2
		for range 2 {
			b.deploy(benchOptions{}, op, h)
			b.settle(time.Minute + time.Second)
		}
		b.settle(3 * time.Minute)
		if diff := cmp.Diff([]string{"1 1", "1 2", "1 3", "1 4"}, keys); diff != "" {
			t.Errorf("keys and attempts that the handler saw (-want +got):\n%s", diff)
		}
		if d := b.wantDead(idem.ReasonExhausted)[0]; d.Key != "1" || d.Attempts != 4 {
			t.Errorf("dead letter of key %q after %d attempts, want 1 and 4", d.Key, d.Attempts)
		}
	})
}

// Versions that take turns count the attempts together.
func TestAttemptsOfAlternatingVersions(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var attempts []int
		h := func(_ context.Context, m idem.Message[order]) error {
			attempts = append(attempts, m.Attempt)
			return idem.Transient(idem.RetryAfter(errBlip, time.Minute))
		}
		for i, r := range []idem.KeyRecipe{recipe2, recipe1, recipe1, recipe2, recipe2} {
			b.deploy(benchOptions{}, idem.Operation{Key: r, Policy: idem.Policy{MaxAttempts: 5}}, h)
			if i == 0 {
				b.publish(order{ID: "1", Total: 10})
			}
			b.settle(time.Minute)
		}
		if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		b.wantDead(idem.ReasonExhausted)
	})
}

// Whatever version gave a message up and whatever version gets its replay, it
// is processed once, under the key that it was given up with.
func TestReplayAcrossRecipes(t *testing.T) {
	for _, tc := range []struct{ parks, replays idem.KeyRecipe }{{recipe1, recipe2}, {recipe2, recipe2}, {recipe2, recipe1}} {
		t.Run(fmt.Sprintf("%d parks, %d replays", max(tc.parks.Version, 1), max(tc.replays.Version, 1)), func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				fail, key := true, ""
				h := func(ctx context.Context, m idem.Message[order]) error {
					if fail {
						return idem.Permanent(errBlip)
					}
					key = m.Key
					return takeEffect(ctx, m)
				}
				b.deploy(benchOptions{}, idem.Operation{Key: tc.parks}, h)
				b.publish(order{ID: "1", Total: 10})
				b.settle(time.Second)
				fail = false
				b.deploy(benchOptions{}, idem.Operation{Key: tc.replays}, h)
				b.publish(order{ID: "1", Total: 10})
				b.settle(time.Second)
				b.wantEffects(map[string]int64{"1 10": 0}) // it waits for somebody
				dead := b.wantDead(idem.ReasonPermanent)[0]
				must(t, b.letters.Replay(t.Context(), dead.ID, noOptions))
				b.settle(time.Second)
				b.wantEffects(map[string]int64{"1 10": 1})
				if key != dead.Key {
					t.Errorf("the replay ran under key %q, the letter has %q", key, dead.Key)
				}
				for _, r := range []idem.KeyRecipe{recipe1, recipe2} {
					b.deploy(benchOptions{}, idem.Operation{Key: r}, h)
					b.publish(order{ID: "1", Total: 10})
					b.settle(time.Second)
				}
				b.wantEffects(map[string]int64{"1 10": 1})
				b.wantDead(idem.ReasonPermanent)
			})
		})
	}
}

// A call that began under one recipe is not made again under another: whoever
// comes next asks, by the key that the call was made with.
func TestExternalCallAcrossRecipes(t *testing.T) {
	for name, versions := range map[string][]idem.KeyRecipe{"old, new": {recipe1, recipe2}, "new, new": {recipe2, recipe2}, "old, new, new": {recipe1, recipe2, recipe2}, "new refused, old, new": {recipe2, recipe1, recipe2}} {
		for _, ask := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, can ask %v", name, ask), func(t *testing.T) {
				var dead atomic.Bool // the database, for a program that dies with its call
				fault := func(memory.Point) error { return errIf(dead.Load(), errBlip) }
				o := benchOptions{fault: fault, drain: time.Millisecond}
				inBubble(t, o, func(b *bench) {
					die := true
					refused := versions[0].Version == 2 && len(versions) == 3
					g := newGateway(func(n int) (bool, error) {
						if n == 1 && refused {
							return false, idem.NotApplied(idem.Transient(idem.RetryAfter(errBlip, 5*time.Minute)))
						}
						dead.Store(die)
						return true, nil
					})
					g.applied = func(context.Context, string) error {
						if len(versions) == 3 && die { // the result is known, Apply has failed
							return idem.Transient(idem.RetryAfter(errBlip, time.Minute))
						}
						return nil
					}
					for i, recipe := range versions {
						if i > 0 {
							_ = b.halt() // it cannot drain: its database is down
							dead.Store(false)
							b.restart(o)
						}
						die = i < len(versions)-1
						op := idem.Operation{Name: "billing", Topic: "orders", Key: recipe, Policy: idem.Policy{MaxAttempts: 50}}
						var err error
						if ask {
							err = idem.RegisterExternal[order, receipt](b.app, op, asking{g})
						} else {
							err = idem.RegisterExternal[order, receipt](b.app, op, g)
						}
						must(t, err)
						b.start()
						b.publish(order{ID: "1", Total: 10})
						b.settle(3 * time.Minute)
					}
					b.settle(3 * time.Minute)
					charges := 0
					for _, n := range g.charges {
						charges += n
					}
					if charges != 1 || g.calls != 1 && !refused {
						t.Errorf("%d charges in %d calls, want one", charges, g.calls)
					}
					key := "r-1"
					if versions[0].Version == 2 && !refused {
						key = "r-v2:|1|10"
					}
					if ask {
						b.wantEffects(map[string]int64{key: 1})
						b.wantDead()
					} else {
						b.wantEffects(map[string]int64{key: 0})
						b.wantDead(idem.ReasonUnknownOutcome)
					}
					b.wantBacklog("orders", "billing", 0)
				})
			})
		}
	}
}

// The answer of a COMMIT is lost, on the way there or back.
func TestUnknownCommitWithAnOldRecipe(t *testing.T) {
	for _, point := range []memory.Point{memory.LostCommit, memory.LostReply} {
		for name, first := range map[string]idem.KeyRecipe{"new message": recipe2, "failed under the old recipe": recipe1} {
			t.Run(string(point)+", "+name, func(t *testing.T) {
				var armed atomic.Bool
				o := benchOptions{fault: func(p memory.Point) error { return errIf(p == point && armed.CompareAndSwap(true, false), errBlip) }}
				inBubble(t, o, func(b *bench) {
					calls := 0
					h := func(ctx context.Context, m idem.Message[order]) error {
						if calls++; first.Version < 2 && calls == 1 {
							return idem.Transient(idem.RetryAfter(errBlip, time.Minute))
						}
						return takeEffect(ctx, m)
					}
					b.deploy(o, idem.Operation{Key: first}, h)
					if first.Version == 2 {
						armed.Store(true)
					}
					b.publish(order{ID: "1", Total: 10})
					b.settle(time.Second)
					armed.Store(first.Version < 2)
					b.deploy(o, idem.Operation{Key: recipe2}, h)
					b.publish(order{ID: "1", Total: 10})
					b.settle(3 * time.Minute)
					b.wantEffects(map[string]int64{"1 10": 1})
					b.wantDead()
					b.wantBacklog("orders", "billing", 0)
					if armed.Load() {
						t.Error("no commit was broken")
					}
					if n := b.count(idem.Done); n != 1 {
						t.Errorf("%d deliveries ended as done, want the one that ran", n)
					}
				})
			})
		}
	}
}

// A bug pauses, and mending it gives all attempts back, to both versions.
func TestPauseAcrossRecipes(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var attempts []int
		h := func(_ context.Context, m idem.Message[order]) error {
			attempts = append(attempts, m.Attempt)
			return idem.Bug(errBlip)
		}
		for i, r := range []idem.KeyRecipe{recipe2, recipe1, recipe2} {
			b.deploy(benchOptions{}, idem.Operation{Key: r, Policy: idem.Policy{MaxAttempts: 2}}, h)
			if i == 0 {
				b.publish(order{ID: "1", Total: 10})
			}
			b.settle(time.Minute)
		}
		if diff := cmp.Diff([]int{1, 2, 1, 2, 1, 2}, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		b.wantDead()
	})
}

// A message whose key is another one's is parked and leaves no trace under its
// older keys; one that the older recipe has no key for does without.
func TestOldKeysOfRefusedAndNewMessages(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		byHeader := idem.KeyFrom(idem.FromHeader("old"))
		byID := idem.KeyRecipe{Version: 3, Parts: []idem.KeyPart{idem.FromPayload("/id")}, Previous: []idem.KeyRecipe{{Version: 2, Parts: []idem.KeyPart{idem.FromPayload("/none")}}, byHeader}}
		old := func(key string) idem.Envelope {
			return idem.Envelope{Headers: []idem.Header{{Name: "old", Value: []byte(key)}}}
		}
		b.deploy(benchOptions{}, idem.Operation{Key: byID}, takeEffect)
		b.publish(order{ID: "1", Total: 10}) // without the header
		b.settle(time.Second)
		b.publishRaw("orders", old("x"), []byte(`{"id":"1","total":20}`))
		b.settle(time.Second)
		b.wantDead(idem.ReasonKeyReuse)
		b.publish(order{ID: "1", Total: 10})
		b.settle(time.Second)
		b.deploy(benchOptions{}, idem.Operation{Key: byHeader}, takeEffect)
		b.publishRaw("orders", old("x"), []byte(`{"id":"2","total":30}`))
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"1 10": 1, "1 20": 0, "2 30": 1})
		b.deploy(benchOptions{}, idem.Operation{Key: byID}, takeEffect)
		b.publishRaw("orders", old("x"), []byte(`{"id":"2","total":30}`))
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"1 10": 1, "1 20": 0, "2 30": 1})
		b.wantDead(idem.ReasonKeyReuse)
	})
}

// Keys that are derived from message ids carry the recipe's version as well.
func TestDerivedKeyAcrossRecipes(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		header1 := idem.KeyFrom(idem.FromHeader("event-id"))
		header2 := idem.KeyRecipe{Version: 2, Parts: []idem.KeyPart{idem.FromHeader("id")}, Previous: []idem.KeyRecipe{header1}}
		first := true
		h := func(ctx context.Context, m idem.Message[order]) error {
			if first {
				first = false
				return idem.Transient(idem.RetryAfter(errBlip, time.Minute))
			}
			if m.Attempt != 2 || !strings.Contains(m.Key, "derived") || strings.HasPrefix(m.Key, "v2:") {
				t.Errorf("attempt %d of key %q, want the second of the key that it began with", m.Attempt, m.Key)
			}
			return takeEffect(ctx, m)
		}
		b.deploy(benchOptions{}, idem.Operation{Key: header1, OnMissingKey: idem.MissingDerives}, h)
		b.publish(order{ID: "1", Total: 10})
		b.settle(time.Second)
		b.deploy(benchOptions{}, idem.Operation{Key: header2, OnMissingKey: idem.MissingDerives}, h)
		b.settle(3 * time.Minute)
		b.wantEffects(map[string]int64{"1 10": 1})
	})
}

// Both programs at work on the copies of one message in doubt of everything:
// what the new one failed, the old one completes, and the new one leaves alone.
func TestCompletedByTheOldProgramMeanwhile(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		entered, release := make(chan struct{}), make(chan struct{})
		b.deploy(benchOptions{}, idem.Operation{Key: recipe2, Policy: idem.Policy{Quick: -1}}, func(ctx context.Context, m idem.Message[order]) error {
			if m.Attempt == 1 {
				return idem.Transient(idem.RetryAfter(errors.New("first"), 100*time.Millisecond))
			}
			close(entered)
			<-release
			return idem.Permanent(takeEffect(ctx, m))
		})
		b.publish(order{ID: "1", Total: 10})
		b.settle(time.Second)
		<-entered
		done := make(chan error, 1)
		go func() { // what a program of the old recipe does with a copy
			done <- b.store.Do(context.Background(), func(tx idem.Tx) error {
				rec, err := tx.Claim(context.Background(), idem.Claim{Consumer: "billing", Key: "1", Token: "old", Retention: time.Minute})
				if err == nil && rec.Status != idem.StatusDone {
					err = fmt.Errorf("the old program finds the record %q and would run", rec.Status)
				}
				return err
			})
		}()
		b.settle(time.Second)
		close(release)
		must(t, <-done)
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"1 10": 1})
	})
}
