package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

func TestANackIsSpaced(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a")
		ch := b.subscribe(idem.SubscriberConfig{})
		begun, last := time.Now(), time.Now()
		calls := 0
		for _, ms := range []int{0, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
			want := time.Duration(ms) * time.Millisecond
			msg := b.next(ch)
			if gap := time.Since(last); gap != want {
				b.Fatalf("delivery %d came %v after the nack, want %v", calls+1, gap, want)
			}
			calls++
			if d := delivery(b, msg); d.Attempt != calls {
				b.Fatalf("attempt is %d, want %d", d.Attempt, calls)
			}
			if calls == 7 && time.Since(begun) < 5*time.Second {
				b.Error("a message that always fails is hot")
			}
			last = time.Now()
			msg.Nack()
		}
	})
}

func TestANackHonoursWhatTheHandlerAskedFor(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a")
		ch := b.subscribe(idem.SubscriberConfig{})
		for _, c := range []struct {
			after   time.Duration
			counted bool
			attempt int // of the delivery that is nacked
		}{{0, true, 1}, {time.Hour - time.Second, true, 2}, {0, false, 3}, {7 * time.Second, false, 3}, {-time.Second, true, 3}} {
			msg := b.next(ch)
			d := delivery(b, msg)
			if d.Attempt != c.attempt {
				b.Fatalf("attempt is %d, want %d", d.Attempt, c.attempt)
			}
			d.Redeliver(c.after, c.counted)
			begun := time.Now()
			msg.Nack()
			next := b.next(ch)
			if took := time.Since(begun); took != max(c.after, 0) {
				b.Fatalf("came back after %v, want %v", took, c.after)
			}
			delivery(b, next).Redeliver(0, false) // back to the loop
			next.Nack()
		}
	})
}

func TestEveryMessageIsSettledOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("3", "3", "3") // duplicates are the handler's to recognise
		ch := b.subscribe(idem.SubscriberConfig{})
		for range 3 {
			msg := b.next(ch)
			msg.Ack()
			msg.Ack()
			if msg.Nack() {
				b.Error("nacked after the ack")
			}
		}
		b.depth(0)
		b.none(ch)
	})
}

func TestAcknowledgementsTravelTogether(t *testing.T) {
	inBubble(t, func(b *bench) {
		const n = 20
		ch := b.subscribe(idem.SubscriberConfig{Concurrency: n})
		var msgs []*message.Message
		for range n {
			b.publish("x")
			msgs = append(msgs, b.next(ch))
		}
		// The first call is slow; the others come in meanwhile.
		b.b.set(&b.b.ack, func(ctx context.Context) error { <-time.After(time.Second); return nil })
		msgs[0].Ack()
		synctest.Wait()
		b.b.set(&b.b.ack, nil)
		for _, msg := range msgs[1:] {
			msg.Ack()
		}
		pass(time.Second)
		b.depth(0)
		if calls := len(b.b.acked); calls != 2 || len(b.b.acked[1]) != n-1 {
			b.Errorf("%d calls for %d acknowledgements, want 2", calls, n)
		}
	})
}

func TestASettlementIsRepeatedUntilItIsStored(t *testing.T) {
	inBubble(t, func(b *bench) {
		var calls atomic.Int64
		failing := func(context.Context) error { calls.Add(1); return errDown }
		b.b.set(&b.b.ack, failing)
		b.b.set(&b.b.release, failing)
		b.publish("acked", "nacked")
		ch := b.subscribe(idem.SubscriberConfig{Concurrency: 2})
		acked, nacked := b.next(ch), b.next(ch)
		acked.Ack()
		delivery(b, nacked).Redeliver(time.Minute, false)
		nacked.Nack()
		pass(10 * lease) // extending works, so the lease lives
		if tries := calls.Load(); tries < 20 || tries > 500 {
			b.Errorf("%d tries in %v", tries, 10*lease)
		}
		b.none(ch)
		b.depth(2)
		b.b.set(&b.b.ack, nil)
		b.b.set(&b.b.release, nil)
		pass(10 * time.Second)
		b.depth(1)
		msg := b.next(ch)
		if d := delivery(b, msg); msg.UUID != "nacked" || d.Attempt != 1 {
			b.Errorf("got attempt %d of %s, want 1 of nacked", d.Attempt, msg.UUID)
		}
		msg.Ack()
	})
}

func TestASettlementEndsWithItsLease(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.b.set(&b.b.ack, down)
		b.b.set(&b.b.extend, down)
		b.publish("a")
		ch := b.subscribe(idem.SubscriberConfig{})
		begun := time.Now()
		b.next(ch).Ack()
		again := b.next(ch) // the slot is free again, and the message is there
		if took := time.Since(begun); took < lease || took > lease+10*time.Second {
			b.Errorf("came back after %v, the lease is %v", took, lease)
		}
		b.b.set(&b.b.ack, nil)
		again.Ack()
		pass(5 * time.Second)
		b.depth(0)
	})
}
