package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

func TestAtMostConcurrencyMessagesAreUnsettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 3}, Config{})
		for i := range int64(10) {
			st.source.messages <- rec(i, "")
		}
		first := st.take()
		if len(first) != 3 {
			t.Fatalf("dispatched %v, want 3", positions(first))
		}
		first[1].Ack()
		if next := st.take(); len(next) != 1 {
			t.Errorf("dispatched after one ack: %v, want 1", positions(next))
		} else {
			next[0].Ack()
		}
		for _, m := range []*message.Message{first[0], first[2]} {
			m.Ack()
		}
		seen := 4
		for msgs := st.take(); len(msgs) > 0; msgs = st.take() {
			for _, m := range msgs {
				m.Ack()
			}
			seen += len(msgs)
		}
		if c := st.session.commits(); seen != 10 || c[len(c)-1] != 10 || !slices.IsSorted(c) {
			t.Errorf("saw %d messages, commits %v; want 10, ascending to 10", seen, c)
		}
		st.end()
	})
}

// 12 and 11 finish while 10 hangs: nothing may be committed.
func TestNoCommitPastAHangingMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 3}, Config{})
		for i := range int64(3) {
			st.source.messages <- rec(10+i, "")
		}
		msgs := st.take()
		slices.SortFunc(msgs, func(a, b *message.Message) int { return int(a.Payload[1]) - int(b.Payload[1]) })
		msgs[2].Ack()
		msgs[1].Ack()
		if c := st.session.commits(); len(c) != 0 {
			t.Errorf("committed %v while 10 hangs", c)
		}
		msgs[0].Ack()
		if c := st.session.commits(); !slices.Equal(c, []int64{13}) {
			t.Errorf("committed %v, want [13]", c)
		}
		st.end()
	})
}

func TestANackedMessageWaitsWithoutASlotAndHoldsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 1, Ordered: true}, Config{})
		st.source.messages <- rec(0, "a")
		first := st.take()[0]
		first.Payload[0] = 'X' // a handler may; the redelivery must not see it
		info(first).Redeliver(time.Minute, true)
		first.Nack()
		st.source.messages <- rec(1, "a")
		st.source.messages <- rec(2, "b")
		if got := st.take(); !slices.Equal(positions(got), []string{"7/2"}) {
			t.Fatalf("dispatched while 0 waits: %v, want only key b's", positions(got))
		} else {
			got[0].Ack()
		}
		time.Sleep(59 * time.Second)
		if got := st.take(); got != nil {
			t.Fatalf("dispatched before the delay was over: %v", positions(got))
		}
		time.Sleep(time.Second)
		again := st.take()
		if len(again) != 1 || info(again[0]).Position != "7/0" || info(again[0]).Attempt != 2 || string(again[0].Payload) != "0" {
			t.Fatalf("after the delay: %v, want message 0 again, as it was, attempt 2", positions(again))
		}
		info(again[0]).Redeliver(0, false)
		again[0].Nack()
		time.Sleep(nackLeast)
		again = st.take()
		if info(again[0]).Attempt != 2 {
			t.Errorf("attempt after an uncounted redelivery: %d, want 2", info(again[0]).Attempt)
		}
		again[0].Ack()
		if got := st.take(); !slices.Equal(positions(got), []string{"7/1"}) {
			t.Errorf("after 0 finished: %v, want message 1", positions(got))
		} else {
			got[0].Ack()
		}
		st.end()
	})
}

// A handler that only ever nacks: the tries are spaced further and further.
func TestBareNacksAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 1}, Config{})
		st.source.messages <- rec(0, "")
		begin, calls := time.Now(), 0
		for time.Since(begin) < 10*time.Second {
			m := <-st.out
			calls++
			m.Nack()
		}
		// Doubling from 100 ms, half of it random: 6 to 8 tries in 10 s.
		if calls < 5 || calls > 9 {
			t.Errorf("%d calls in 10 s", calls)
		}
		st.end()
	})
}

func TestAskingForNoDelayIsNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 1}, Config{})
		st.source.messages <- rec(0, "")
		begin, calls := time.Now(), 0
		for time.Since(begin) < time.Second {
			m := <-st.out
			calls++
			info(m).Redeliver(0, true)
			m.Nack()
		}
		if calls > 101 {
			t.Errorf("%d calls in 1 s", calls)
		}
		st.end()
	})
}

func TestAShutGateStopsDispatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &idem.Gate{}
		st := newStage(idem.SubscriberConfig{Concurrency: 2, Gate: gate}, Config{Window: 5})
		gate.Pause("test")
		for i := range int64(20) {
			st.source.messages <- rec(i, "")
		}
		if got := st.take(); got != nil {
			t.Fatalf("dispatched while paused: %v", positions(got))
		}
		if left := len(st.source.messages); left != 15 {
			t.Errorf("%d left unread while paused, want 15: the window is 5", left)
		}
		gate.Resume()
		gate.HoldFor(time.Second)
		if got := st.take(); got != nil {
			t.Fatalf("dispatched during a hold: %v", positions(got))
		}
		time.Sleep(time.Second)
		msgs := st.take()
		if len(msgs) != 2 {
			t.Fatalf("dispatched after the hold: %v, want 2", positions(msgs))
		}
		gate.Close()
		for _, m := range msgs {
			m.Ack()
		}
		if got := st.take(); got != nil {
			t.Errorf("dispatched after the gate was closed: %v", positions(got))
		}
		if c := st.session.commits(); !slices.Equal(c, []int64{1, 2}) && !slices.Equal(c, []int64{2}) {
			t.Errorf("commits %v, want up to 2", c)
		}
		st.end()
	})
}

// The gate shuts while a message is offered and nobody takes it: it is not
// handed over later, while the gate is shut.
func TestTheGateRevokesAnOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &idem.Gate{}
		st := newStage(idem.SubscriberConfig{Concurrency: 1, Gate: gate}, Config{})
		st.source.messages <- rec(0, "")
		synctest.Wait()
		gate.Pause("test")
		if got := st.take(); got != nil {
			t.Fatalf("dispatched: %v", positions(got))
		}
		gate.Resume()
		got := st.take()
		if len(got) != 1 || info(got[0]).Attempt != 1 {
			t.Fatalf("after resuming: %v, want message 0, attempt 1", positions(got))
		}
		got[0].Ack()
		st.end()
	})
}

func TestRevocation(t *testing.T) {
	const rebalance = 4 * time.Second // so half a grace is 2 s, and 1 s more to unwind
	for _, tc := range []struct {
		name     string
		cause    error
		finishes time.Duration // how long after the revocation the handler acks; 0: when its context ends, with a nack
		took     time.Duration
		commits  []int64
	}{
		{"a handler that finishes soon is committed", sarama.ErrRebalanceInProgress, time.Second, time.Second, []int64{1}},
		{"a long handler is cancelled", sarama.ErrRebalanceInProgress, 0, 2 * time.Second, nil},
		{"a handler deaf to cancelling is left behind", sarama.ErrRebalanceInProgress, time.Minute, 3 * time.Second, nil},
		{"a lost session is cancelled at once", sarama.ErrUnknownMemberId, 0, 0, nil},
		{"a lost session commits nothing", sarama.ErrSessionHeartbeatFailed, time.Second / 2, time.Second / 2, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStage(idem.SubscriberConfig{Concurrency: 2}, Config{RebalanceTimeout: rebalance})
				st.source.messages <- rec(0, "")
				st.source.messages <- rec(1, "")
				msgs := st.take()
				slices.SortFunc(msgs, func(a, b *message.Message) int { return int(a.Payload[0]) - int(b.Payload[0]) })
				info(msgs[1]).Redeliver(time.Millisecond, true)
				msgs[1].Nack() // waits when the revocation comes
				session := st.session
				var handler sync.WaitGroup
				handler.Go(func() {
					if tc.finishes > 0 {
						time.Sleep(tc.finishes)
						msgs[0].Ack()
						return
					}
					<-msgs[0].Context().Done()
					if cause := context.Cause(msgs[0].Context()); !errors.Is(cause, idem.ErrLeaseLost) {
						t.Errorf("cause: %v, want ErrLeaseLost", cause)
					}
					msgs[0].Nack()
				})
				synctest.Wait()
				if took := st.revoke(tc.cause); took != tc.took {
					t.Errorf("the claim ended after %v, want %v", took, tc.took)
				}
				if got := st.take(); got != nil {
					t.Errorf("dispatched after the revocation: %v", positions(got))
				}
				handler.Wait()
				if c := session.commits(); !slices.Equal(c, tc.commits) {
					t.Errorf("commits %v, want %v", c, tc.commits)
				}
				// The next session is served as if nothing had been.
				st.assign()
				st.source.messages <- rec(1, "")
				for _, m := range st.take() {
					m.Ack()
				}
				if c := st.session.commits(); !slices.Equal(c, []int64{2}) {
					t.Errorf("commits of the next session %v, want [2]", c)
				}
				st.end()
			})
		})
	}
}

func TestDrainLetsHandlersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 1}, Config{CloseTimeout: time.Minute})
		st.source.messages <- rec(0, "")
		st.source.messages <- rec(1, "")
		m := st.take()[0]
		go func() {
			time.Sleep(50 * time.Second)
			if m.Context().Err() != nil {
				t.Errorf("the context of a message in hand has ended: %v", context.Cause(m.Context()))
			}
			m.Ack()
		}()
		begin := time.Now()
		st.end()
		if took := time.Since(begin); took != 50*time.Second {
			t.Errorf("closed after %v, want 50s", took)
		}
		if c := st.session.commits(); !slices.Equal(c, []int64{1}) {
			t.Errorf("commits %v, want [1]", c)
		}
		if m, open := <-st.out; open {
			t.Errorf("dispatched while draining: %v", info(m).Position)
		}
	})
}

func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{Concurrency: 2}, Config{CloseTimeout: time.Second})
		st.source.messages <- rec(0, "")
		st.source.messages <- rec(1, "")
		msgs := st.take()
		polite, deaf := msgs[0], msgs[1]
		go func() {
			<-polite.Context().Done()
			if cause := context.Cause(polite.Context()); !errors.Is(cause, idem.ErrShuttingDown) {
				t.Errorf("cause: %v, want ErrShuttingDown", cause)
			}
			polite.Nack()
		}()
		begin := time.Now()
		st.end()
		if took := time.Since(begin); took != time.Second+unwind {
			t.Errorf("closed after %v, want %v", took, time.Second+unwind)
		}
		if c := st.session.commits(); c != nil {
			t.Errorf("commits %v, want none", c)
		}
		deaf.Ack() // too late: must not panic, nor commit
		if c := st.session.commits(); c != nil {
			t.Errorf("commits %v after the close", c)
		}
	})
}

// The window counts from the lowest unfinished message on, and bytes count too.
func TestTheWindowBoundsWhatIsFetched(t *testing.T) {
	for _, cfg := range []Config{{Window: 4}, {WindowBytes: 4, Window: 1000}} {
		synctest.Test(t, func(t *testing.T) {
			st := newStage(idem.SubscriberConfig{Concurrency: 100}, cfg)
			for i := range int64(9) {
				st.source.messages <- rec(i, "") // one byte each
			}
			msgs := st.take()
			if len(msgs) != 4 || len(st.source.messages) != 5 {
				t.Errorf("%+v: dispatched %d, unread %d; want 4 and 5", cfg, len(msgs), len(st.source.messages))
			}
			for len(msgs) > 0 {
				for _, m := range msgs {
					m.Ack()
				}
				msgs = st.take()
			}
			st.end()
		})
	}
}

// Connections and sessions that never get as far as a claim come further and
// further apart; one that does begins anew, and rebalances do not wait.
func TestBarrenSessionsAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(idem.SubscriberConfig{}, Config{})
		h := handler{st.subscription}
		took := func(f func()) time.Duration {
			begin := time.Now()
			f()
			return time.Since(begin)
		}
		setup := func() { _ = h.Setup(st.session) }
		connect := func() { st.WrapConsumerGroupHandler(nil) }
		if d := took(connect) + took(setup); d != 0 {
			t.Errorf("the first session waited %v", d)
		}
		var last time.Duration
		for i := range 10 {
			f := setup
			if i%2 == 0 {
				f = connect
			}
			d := took(f)
			if d < last/2 || d < 50*time.Millisecond || d > 5*time.Second {
				t.Errorf("try %d waited %v after %v", i, d, last)
			}
			last = d
		}
		if last < 2500*time.Millisecond {
			t.Errorf("the last try waited only %v", last)
		}
		h.barren.Store(0) // as ConsumeClaim does
		for range 3 {
			if d := took(setup); d != 0 {
				t.Errorf("a rebalance waited %v", d)
			}
			h.barren.Store(0)
		}
		h.barren.Store(9)
		time.AfterFunc(time.Millisecond, st.stop)
		if d := took(connect); d != time.Millisecond {
			t.Errorf("closing was held up for %v", d)
		}
		st.end()
	})
}
