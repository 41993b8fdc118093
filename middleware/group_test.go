package middleware_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

const transactionEnv = "IDEM_TEST_TRANSACTION"

// What holds for messages with transactions of their own holds for messages
// that share them.
func TestEverythingInSharedTransactions(t *testing.T) {
	if os.Getenv(transactionEnv) != "" {
		t.Skip("this is the run with shared transactions")
	}
	if testing.Short() {
		t.Skip("runs every test of this package a second time")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=5m")
	cmd.Env = append(os.Environ(), transactionEnv+"="+string(idem.TransactionGroup))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// crowd is a handler whose first two runs wait until all messages are there,
// so that the others meet in shared transactions.
type crowd struct {
	b     *bench
	full  chan struct{}
	begun atomic.Int32
	runs  sync.Map // id → *atomic.Int32
}

func newCrowd(b *bench) *crowd { return &crowd{b: b, full: make(chan struct{})} }

// enter counts a run of the message and returns its number.
func (c *crowd) enter(id string) int {
	if c.begun.Add(1) <= 2 {
		<-c.full
	}
	n, _ := c.runs.LoadOrStore(id, new(atomic.Int32))
	return int(n.(*atomic.Int32).Add(1))
}

func (c *crowd) of(id string) int {
	n, ok := c.runs.Load(id)
	if !ok {
		return 0
	}
	return int(n.(*atomic.Int32).Load())
}

// gather publishes n orders and lets them go when all are in hand.
func (c *crowd) gather(n int) (want map[string]int64) {
	want = map[string]int64{}
	c.b.start()
	for i := range n {
		c.b.publish(order{ID: fmt.Sprint(i), Total: int64(i)})
		want[fmt.Sprint(i)] = 1
	}
	c.b.settle(50 * time.Millisecond)
	close(c.full)
	c.b.settle(2 * time.Minute)
	return want
}

func grouped(policy idem.Policy) idem.Operation {
	return idem.Operation{Transaction: idem.TransactionGroup, Policy: policy}
}

func TestManyMessagesShareATransaction(t *testing.T) {
	var begins atomic.Int32
	fault := func(p memory.Point) error {
		if p == memory.AtBegin {
			begins.Add(1)
		}
		return nil
	}
	inBubble(t, benchOptions{fault: fault}, func(b *bench) {
		c := newCrowd(b)
		b.handle(grouped(idem.Policy{}), func(ctx context.Context, m idem.Message[order]) error {
			c.enter(m.Payload.ID)
			effect(ctx, m.Payload.ID)
			return nil
		})
		before := begins.Load()
		want := c.gather(150)
		b.wantEffects(want)
		b.wantBacklog("orders", "billing", 0)
		if n := begins.Load() - before; n > 40 {
			t.Errorf("150 messages took %d transactions", n)
		}
	})
}

// The one that fails is judged by itself: its neighbours lose nothing, run at
// most three times, and no attempt is counted that was not made.
func TestTheCulpritIsIsolated(t *testing.T) {
	for name, fail := range map[string]func() error{
		"transient": func() error { return errBlip },
		"permanent": func() error { return idem.Permanent(errBlip) },
		"panic":     func() error { panic("boom") },
		"goexit":    func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				c := newCrowd(b)
				b.handle(grouped(idem.Policy{MaxAttempts: 3, OnBug: idem.BugDeadLetters}), func(ctx context.Context, m idem.Message[order]) error {
					c.enter(m.Payload.ID)
					effect(ctx, m.Payload.ID)
					if err := idem.Emit(ctx, idem.Event{Topic: "billed", Payload: m.Payload}); err != nil {
						return err
					}
					if m.Payload.ID == "13" || m.Payload.ID == "29" {
						return fail()
					}
					return nil
				})
				billed := b.tap("billed")
				want := c.gather(40)
				delete(want, "13")
				delete(want, "29")
				b.wantEffects(want)
				b.wantBacklog("orders", "billing", 0)
				if got := len(billed()); got != 38 {
					t.Errorf("%d events were published, want those of the 38 that committed", got)
				}
				attempts := 3
				if name == "permanent" { // which is not counted, for it is not tried again
					attempts = 0
				}
				letters := b.dead()
				if len(letters) != 2 {
					t.Fatalf("%d dead letters, want 2", len(letters))
				}
				for _, d := range letters {
					if d.Attempts != attempts {
						t.Errorf("a dead letter has %d attempts, want %d", d.Attempts, attempts)
					}
				}
				for id := range want {
					if n := c.of(id); n > 3 {
						t.Errorf("%s ran %d times for its neighbours' faults", id, n)
					}
				}
			})
		})
	}
}

// A handler that takes its time leaves the transaction and gets one of its own.
func TestASlowHandlerLeavesTheSharedTransaction(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		c := newCrowd(b)
		b.handle(grouped(idem.Policy{Timeout: 10 * time.Second, MaxAttempts: 1}), func(ctx context.Context, m idem.Message[order]) error {
			c.enter(m.Payload.ID)
			effect(ctx, m.Payload.ID)
			if m.Payload.ID == "7" {
				select {
				case <-time.After(5 * time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
		b.wantEffects(c.gather(30))
		b.wantDead()
		if n := c.of("7"); n < 2 {
			t.Errorf("the slow handler ran %d times, want once with the others and once alone", n)
		}
	})
}

// When handlers together take longer than the budget, the transaction is cut
// and the rest goes on in the next ones, without a second run.
func TestASharedTransactionIsCutAtItsBudget(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		c := newCrowd(b)
		b.handle(grouped(idem.Policy{}), func(ctx context.Context, m idem.Message[order]) error {
			c.enter(m.Payload.ID)
			effect(ctx, m.Payload.ID)
			time.Sleep(15 * time.Millisecond) // the handler's work, by the bubble's clock
			return nil
		})
		want := c.gather(60)
		b.wantEffects(want)
		for id := range want {
			if n := c.of(id); n != 1 {
				t.Errorf("%s ran %d times, want once", id, n)
			}
		}
	})
}

func TestOneKeyManyTimesInSharedTransactions(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		c := newCrowd(b)
		op := grouped(idem.Policy{})
		op.Unordered = true
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			c.enter(m.Payload.ID)
			effect(ctx, m.Payload.ID)
			return nil
		})
		b.start()
		for i := range 90 {
			b.publish(order{ID: fmt.Sprint(i % 30)})
		}
		b.settle(50 * time.Millisecond)
		close(c.full)
		b.settle(time.Minute)
		want := map[string]int64{}
		for i := range 30 {
			want[fmt.Sprint(i)] = 1
			if n := c.of(fmt.Sprint(i)); n != 1 {
				t.Errorf("%d ran %d times, want once", i, n)
			}
		}
		b.wantEffects(want)
		b.wantBacklog("orders", "billing", 0)
		if n := b.count(idem.Duplicate); n != 60 {
			t.Errorf("%d duplicates, want 60", n)
		}
	})
}

// The answer to a shared COMMIT is lost: each message finds out for itself.
func TestUnknownCommitOfASharedTransaction(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied %v", applied), func(t *testing.T) {
			var armed atomic.Bool
			var once sync.Once
			point := memory.LostCommit
			if applied {
				point = memory.LostReply
			}
			fault := func(p memory.Point) error {
				if p == point && armed.CompareAndSwap(true, false) {
					return errBlip
				}
				return nil
			}
			inBubble(t, benchOptions{fault: fault}, func(b *bench) {
				c := newCrowd(b)
				b.handle(grouped(idem.Policy{}), func(ctx context.Context, m idem.Message[order]) error {
					c.enter(m.Payload.ID)
					effect(ctx, m.Payload.ID)
					if m.Payload.ID == "20" { // in the middle of a shared transaction
						once.Do(func() { armed.Store(true) })
					}
					return nil
				})
				b.wantEffects(c.gather(40))
				b.wantBacklog("orders", "billing", 0)
				b.wantDead()
			})
		})
	}
}

func TestBatchHandler(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		c := newCrowd(b)
		var sizes []int
		h := func(ctx context.Context, ms []idem.Message[order]) []error {
			sizes = append(sizes, len(ms)) // one at a time: Parallel is 1
			errs := make([]error, len(ms))
			for i, m := range ms {
				c.enter(m.Payload.ID)
				if m.Payload.Total == 5 {
					errs[i] = idem.Permanent(errBlip)
					continue
				}
				effect(ctx, m.Payload.ID)
				if err := idem.Emit(ctx, idem.Event{Topic: "billed"}); err == nil && len(ms) > 1 {
					t.Error("Emit took an event of nobody knows which message")
				}
				if err := idem.Emit(idem.ItemContext(ctx, m.Info), idem.Event{Topic: "billed", Payload: m.Payload}); err != nil {
					t.Error(err)
				}
			}
			return errs
		}
		c.begun.Store(1) // only the first run waits
		op := withDefaults(idem.Operation{Group: idem.Group{Parallel: 1}, Concurrency: 200})
		if err := idem.RegisterBatch(b.app, op, idem.BatchHandlerFunc[order](h)); err != nil {
			t.Fatal(err)
		}
		billed := b.tap("billed")
		b.publishRaw("orders", idem.Envelope{Key: []byte("bad")}, []byte(`{"id":"bad","total":"no number"}`))
		want := c.gather(60)
		delete(want, "5")
		b.wantEffects(want)
		b.wantBacklog("orders", "billing", 0)
		if n := len(billed()); n < 59 {
			t.Errorf("%d events were published, want one of each", n)
		}
		if len(b.dead()) != 2 {
			t.Errorf("%d dead letters, want the one that fails and the one that does not decode", len(b.dead()))
		}
		most := 0
		for _, n := range sizes {
			most = max(most, n)
		}
		if most < 40 {
			t.Errorf("at most %d messages came together: %v", most, sizes)
		}
	})
}

// A batch handler that breaks its word is told so, and loses nothing.
func TestBatchHandlerWithWrongResults(t *testing.T) {
	for name, h := range map[string]idem.BatchHandlerFunc[order]{
		"too few": func(_ context.Context, ms []idem.Message[order]) []error { return make([]error, len(ms)+1) },
		"panic":   func(context.Context, []idem.Message[order]) []error { panic("boom") },
		"goexit":  func(context.Context, []idem.Message[order]) []error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				op := withDefaults(idem.Operation{Policy: idem.Policy{MaxAttempts: 2, OnBug: idem.BugDeadLetters}})
				if err := idem.RegisterBatch(b.app, op, h); err != nil {
					t.Fatal(err)
				}
				b.start()
				for i := range 20 {
					b.publish(order{ID: fmt.Sprint(i)})
				}
				b.settle(time.Minute)
				var attempts []int
				for _, d := range b.dead() {
					attempts = append(attempts, d.Attempts)
				}
				want := make([]int, 20)
				for i := range want {
					want[i] = 2
				}
				if diff := cmp.Diff(want, attempts); diff != "" {
					t.Errorf("attempts of the dead letters (-want +got):\n%s", diff)
				}
			})
		})
	}
}
