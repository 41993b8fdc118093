package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idem-go/idem/framework/idem"
)

func TestAFailingMessageStopsNeitherItsPartitionNorOthers(t *testing.T) {
	b := newBench(t, 4)
	for p := range int32(4) {
		b.publish(p, numbered(fmt.Sprintf("p%d-", p), 25)...)
	}
	m := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 4, Ordered: true})
	var seen tally
	b.handle(m, func(msg *message.Message) {
		seen.add(msg)
		if string(msg.Payload) == "p1-003" {
			msg.Nack()
			return
		}
		msg.Ack()
	})
	b.eventually(func() string {
		got := seen.get()
		if len(got) != 100 || got["p1-003"] < 3 {
			return fmt.Sprintf("%d of 100 messages, the failing one %d times", len(got), got["p1-003"])
		}
		return ""
	})
	for name, n := range seen.get() {
		if n > 1 && name != "p1-003" {
			t.Errorf("%s was delivered %d times", name, n)
		}
	}
	b.wantCommitted(map[int32]int64{0: 25, 1: 3, 2: 25, 3: 25})
}

// A second member joins while the first runs one handler and has another
// message that keeps failing: both stop at the first before they start at the
// second.
func TestNoMessageRunsAtTwoMembers(t *testing.T) {
	b := newBench(t, 4)
	for p := range int32(4) {
		b.publish(p, fmt.Sprintf("long-%d", p), fmt.Sprintf("failing-%d", p))
	}
	var (
		mu      sync.Mutex
		running = map[string]string{} // payload: member
		runs    = map[string][]string{}
		leased  atomic.Int32
	)
	handler := func(name string) func(*message.Message) {
		return func(msg *message.Message) {
			p := string(msg.Payload)
			mu.Lock()
			if other := running[p]; other != "" {
				t.Errorf("%s runs at %s and at %s", p, other, name)
			}
			running[p] = name
			runs[p] = append(runs[p], name)
			mu.Unlock()
			if strings.HasPrefix(p, "long") {
				// At the first member, longer than the grace.
				select {
				case <-msg.Context().Done():
					if errors.Is(context.Cause(msg.Context()), idem.ErrLeaseLost) {
						leased.Add(1)
					}
				case <-time.After(map[string]time.Duration{"A": time.Minute, "B": 0}[name]):
				}
			} else {
				d, _ := idem.DeliveryFrom(msg.Context())
				d.Redeliver(20*time.Millisecond, true)
			}
			mu.Lock()
			running[p] = ""
			mu.Unlock()
			if strings.HasPrefix(p, "long") && msg.Context().Err() == nil {
				msg.Ack()
			} else {
				msg.Nack()
			}
		}
	}
	A := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 8})
	b.handle(A, handler("A"))
	b.eventually(func() string {
		mu.Lock()
		defer mu.Unlock()
		if len(runs) != 8 || len(runs["failing-0"]) < 3 {
			return fmt.Sprintf("the first member runs %v", runs)
		}
		return ""
	})
	B := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 8})
	b.handle(B, handler("B"))
	b.eventually(func() string {
		mu.Lock()
		defer mu.Unlock()
		at := 0
		for _, who := range runs {
			// The failing messages go on at the new owner.
			if slices.Contains(who, "B") && len(who) > slices.Index(who, "B")+2 {
				at++
			}
		}
		if at < 2 {
			return fmt.Sprintf("the second member took over %d failing messages: %v", at, runs)
		}
		return ""
	})
	if leased.Load() == 0 {
		t.Error("no handler was told that the lease was lost")
	}
	mu.Lock()
	for p, who := range runs {
		if i := slices.Index(who, "B"); i >= 0 && slices.Contains(who[i:], "A") {
			t.Errorf("%s ran at the old owner after the new one had it: %v", p, who)
		}
	}
	mu.Unlock()
	for p, offset := range b.committed() {
		if offset > 1 {
			t.Errorf("partition %d: committed %d, past the failing message", p, offset)
		}
	}
}

// Of offsets 0, 1, 2 at concurrency 3, 2 and 1 finish and 0 hangs when the
// process dies: 0 must come again, and with it those above.
func TestACrashLosesNothing(t *testing.T) {
	b := newBench(t, 1)
	b.publish(0, "before", "hangs", "done-1", "done-2")
	line := &line{}
	m := b.join(b.transport(func(c *Config) {
		c.Tune = line.tune
		c.CloseTimeout = 200 * time.Millisecond
	}), idem.SubscriberConfig{Concurrency: 3})
	for range 4 {
		if msg := b.receive(m); string(msg.Payload) != "hangs" {
			msg.Ack()
		}
	}
	b.wantCommitted(map[int32]int64{0: 1})
	line.cut()

	second := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 3})
	var got []string
	for range 3 {
		msg := b.receive(second)
		got = append(got, string(msg.Payload))
		msg.Ack()
	}
	slices.Sort(got)
	if want := []string{"done-1", "done-2", "hangs"}; !slices.Equal(got, want) {
		t.Errorf("after the crash came %v, want %v", got, want)
	}
	b.wantCommitted(map[int32]int64{0: 4})
	begin := time.Now()
	if err := m.Close(); err != nil || time.Since(begin) > 10*time.Second {
		t.Errorf("closing without a network: %v after %v", err, time.Since(begin))
	}
}

func TestCloseGivesBackExactlyTheUnfinished(t *testing.T) {
	b := newBench(t, 1)
	b.publish(0, numbered("m", 6)...)
	m := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 2})
	b.receive(m).Ack()
	b.receive(m).Ack()
	third := b.receive(m)
	fourth := b.receive(m)
	time.AfterFunc(100*time.Millisecond, func() {
		third.Ack() // finishes while the subscriber closes
		fourth.Nack()
	})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.committed()[0]; got != 3 {
		t.Errorf("committed %d when Close returned, want 3", got)
	}
	if _, open := <-m.out; open {
		t.Error("dispatched while closing")
	}
	if _, err := m.Subscribe(context.Background(), b.topic); err == nil {
		t.Error("subscribed after Close")
	}
	second := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 1})
	for _, want := range []string{"m003", "m004", "m005"} {
		msg := b.receive(second)
		if string(msg.Payload) != want {
			t.Errorf("came %q, want %q", msg.Payload, want)
		}
		msg.Ack()
	}
	b.wantCommitted(map[int32]int64{0: 6})
}

// The context of Subscribe ends intake, not the message in hand.
func TestTheEndOfTheSubscribeContextDrains(t *testing.T) {
	b := newBench(t, 1)
	b.publish(0, "m0", "m1")
	sub, err := b.transport(nil).Subscriber(idem.SubscriberConfig{Group: b.topic})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	out, err := sub.Subscribe(ctx, b.topic)
	if err != nil {
		t.Fatal(err)
	}
	msg := b.receive(member{out: out})
	cancel()
	if v := msg.Context().Value(key{}); v != "value" || msg.Context().Err() != nil {
		t.Errorf("context of the message: value %v, error %v", v, msg.Context().Err())
	}
	msg.Ack()
	if _, open := <-out; open {
		t.Error("dispatched after the end of the context")
	}
	b.wantCommitted(map[int32]int64{0: 1})
}

// Aborted transactions are not delivered, and neither they nor the markers
// stop the commits.
func TestTransactionsLeaveHoles(t *testing.T) {
	b := newBench(t, 1)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.brokers...), kgo.TransactionalID(b.topic), kgo.DefaultProduceTopic(b.topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	transaction := func(end kgo.TransactionEndTry, values ...string) {
		t.Helper()
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			r := &kgo.Record{Key: []byte("k"), Value: []byte(v)}
			if v == "tombstone" {
				r.Value = nil
			}
			if err := client.ProduceSync(b.ctx(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.EndTransaction(b.ctx(), end); err != nil {
			t.Fatal(err)
		}
	}
	transaction(kgo.TryCommit, "a", "tombstone") // offsets 0, 1; marker 2
	transaction(kgo.TryAbort, "never", "never")  // 3, 4; marker 5
	transaction(kgo.TryCommit, "b")              // 6; marker 7
	transaction(kgo.TryAbort, "never")           // 8; marker 9
	b.publish(0, "c")                            // 10
	m := b.join(b.transport(nil), idem.SubscriberConfig{Ordered: true, Concurrency: 4})
	var got []string
	for range 4 {
		msg := b.receive(m)
		payload := "null"
		if msg.Payload != nil {
			payload = string(msg.Payload)
		}
		got = append(got, info(msg).Position+" "+payload)
		msg.Ack()
	}
	slices.Sort(got)
	if want := []string{"0/0 a", "0/1 null", "0/10 c", "0/6 b"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	b.wantCommitted(map[int32]int64{0: 11})
}

func TestASlowConsumerStaysBounded(t *testing.T) {
	b := newBench(t, 2)
	const backlog = 400
	for p := range int32(2) {
		b.publish(p, numbered(fmt.Sprintf("p%d-", p), backlog/2)...)
	}
	m := b.join(b.transport(func(c *Config) { c.Window = 20 }), idem.SubscriberConfig{Concurrency: 5})
	var seen tally
	var now, peak atomic.Int32
	b.handle(m, func(msg *message.Message) {
		n := now.Add(1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		time.Sleep(time.Millisecond) // work
		seen.add(msg)
		now.Add(-1)
		msg.Ack()
	})
	b.wantCommitted(map[int32]int64{0: backlog / 2, 1: backlog / 2})
	if got := seen.get(); len(got) != backlog || peak.Load() > 5 || peak.Load() < 2 {
		t.Errorf("saw %d of %d, at most %d at once; want 2 to 5", len(got), backlog, peak.Load())
	}
	for name, n := range seen.get() {
		if n != 1 {
			t.Errorf("%s was delivered %d times", name, n)
		}
	}
}

func TestTheSessionOutlivesALongPause(t *testing.T) {
	b := newBench(t, 1)
	gate := &idem.Gate{}
	m := b.join(b.transport(func(c *Config) { c.SessionTimeout, c.Window = time.Second, 5 }), idem.SubscriberConfig{Concurrency: 2, Gate: gate})
	b.publish(0, numbered("m", 30)...)
	held := b.receive(m)
	before := b.memberID()
	gate.Pause("test")
	time.Sleep(3 * time.Second) // three sessions long
	select {
	case msg := <-m.out:
		t.Errorf("dispatched while paused: %s", msg.Payload)
	default:
	}
	if held.Context().Err() != nil {
		t.Errorf("the message in hand lost its lease: %v", context.Cause(held.Context()))
	}
	if after := b.memberID(); after != before || before == "" {
		t.Errorf("member %q became %q", before, after)
	}
	gate.Resume()
	held.Ack()
	for range 29 {
		b.receive(m).Ack()
	}
	b.wantCommitted(map[int32]int64{0: 30})
}

// memberID returns the only member of the group.
func (b *bench) memberID() string {
	b.Helper()
	cfg := b.cfg.withDefaults().client()
	cfg.Metadata.Full = true
	admin, err := sarama.NewClusterAdmin(b.brokers, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer admin.Close()
	groups, err := admin.DescribeConsumerGroups([]string{b.topic})
	if err != nil {
		b.Fatal(err)
	}
	for id := range groups[0].Members {
		return id
	}
	return ""
}

func TestATopicThatComesLater(t *testing.T) {
	b := newBench(t, 1)
	line := &line{}
	b.topic += "_later"
	m := b.join(b.transport(func(c *Config) { c.Tune = line.tune }), idem.SubscriberConfig{})
	time.Sleep(2 * time.Second) // the measure is dials within a span of time
	// Each connection takes a few dials; 100, 200, 400, 800 ms lie between.
	if n := line.dials.Load(); n > 40 {
		t.Errorf("%d dials in 2 s", n)
	}
	if err := b.transport(nil).EnsureTopics(b.ctx(), b.topic); err != nil {
		t.Fatal(err)
	}
	b.publish(0, "m")
	b.receive(m).Ack()
	b.wantCommitted(map[int32]int64{0: 1})
}

// The brokers are away when the consumer starts, and once more later.
func TestConsumingRecoversFromAnUnreachableBroker(t *testing.T) {
	b := newBench(t, 1)
	line := &line{}
	line.cut()
	m := b.join(b.transport(func(c *Config) { c.Tune = line.tune }), idem.SubscriberConfig{})
	line.mend()
	b.publish(0, "first", "second")
	b.receive(m).Ack()
	b.wantCommitted(map[int32]int64{0: 1})
	line.cut()
	held := b.receive(m)
	select {
	case <-held.Context().Done():
	case <-b.ctx().Done():
		t.Fatal("the lease is kept without a session")
	}
	held.Ack() // too late
	line.mend()
	again := b.receive(m)
	if string(again.Payload) != "second" {
		t.Errorf("came %q after the outage, want the one that was not committed", again.Payload)
	}
	again.Ack()
	b.wantCommitted(map[int32]int64{0: 2})
}
