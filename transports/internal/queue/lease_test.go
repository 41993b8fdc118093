package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

func TestALongHandlerKeepsItsLease(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a")
		mine := b.subscribe(idem.SubscriberConfig{Lease: time.Second})
		msg := b.next(mine)
		other := b.subscribe(idem.SubscriberConfig{Lease: time.Second})
		for range 30 { // thirty leases
			pass(time.Second)
			b.none(other)
			b.none(mine)
		}
		alive(b, msg)
		msg.Ack()
		b.depth(0)
	})
}

func TestADeadOwnersMessageComesBackAfterItsLease(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a")
		b.must(b.b.Register(b.Context(), topic, group))
		// Somebody claims and is never heard of again.
		ds, err := b.b.Claim(b.Context(), queue.ClaimRequest{Topic: topic, Group: group, N: 1, Lease: 2 * time.Second})
		if err != nil || len(ds) != 1 {
			b.Fatal(ds, err)
		}
		begun := time.Now()
		msg := b.next(b.subscribe(idem.SubscriberConfig{}))
		if took := time.Since(begun); took != 2*time.Second {
			b.Errorf("came back after %v, want 2s", took)
		}
		if d := delivery(b, msg); d.Attempt != 2 {
			b.Errorf("attempt is %d, want 2", d.Attempt)
		}
		msg.Ack()
	})
}

func TestALostLeaseEndsTheContext(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a", "b")
		ch := b.subscribe(idem.SubscriberConfig{Concurrency: 2})
		a, other := b.next(ch), b.next(ch)
		// The database gives a to somebody else, who acknowledges it.
		b.must(b.b.Backend.Ack(b.Context(), queue.Lease{ID: 1, Group: group, Token: "1"}))
		pass(lease/3 + time.Second)
		endedWith(b, a, idem.ErrLeaseLost)
		alive(b, other)
		a.Nack()
		other.Ack()
		b.depth(0)
	})
}

func TestALeaseThatCannotBeExtendedEndsTheContextInTime(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"error":     down,
		"no answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.publish("a")
				ch := b.subscribe(idem.SubscriberConfig{})
				msg := b.next(ch)
				pass(lease) // by now it was renewed
				b.b.set(&b.b.extend, fail)
				pass(lease - time.Second)
				alive(b, msg) // there is still hope
				pass(time.Second)
				endedWith(b, msg, idem.ErrLeaseLost)

				// Whoever has it now is not harmed by the one who lost it.
				b.b.set(&b.b.extend, nil)
				again := b.next(b.subscribe(idem.SubscriberConfig{}))
				msg.Ack()
				b.depth(1)
				pass(10 * lease)
				alive(b, again)
				again.Ack()
				b.depth(0)
			})
		})
	}
}

func TestWhereNobodyElseCanClaimOnlyTheDatabaseTellsOfALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty()
		b := &bench{T: t, b: f, t: newTransport(t, f, queue.Options{LocksOutClaims: true})}
		b.publish("a")
		msg := b.next(b.subscribe(idem.SubscriberConfig{}))
		f.set(&f.extend, down)
		pass(10 * lease)
		alive(b, msg)
		b.must(f.Backend.Ack(b.Context(), queue.Lease{ID: 1, Group: group, Token: "1"}))
		f.set(&f.extend, nil)
		pass(lease)
		endedWith(b, msg, idem.ErrLeaseLost)
		msg.Nack()
	})
}

func TestExtendingGoesOnAfterAnError(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a")
		msg := b.next(b.subscribe(idem.SubscriberConfig{}))
		b.b.set(&b.b.extend, down)
		pass(lease * 2 / 3)
		b.b.set(&b.b.extend, nil)
		pass(10 * lease)
		alive(b, msg)
		msg.Ack()
		b.depth(0)
	})
}

func TestAClaimSlowerThanItsLeaseIsNotDelivered(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.b.set(&b.b.afterward, func(context.Context) error {
			b.b.set(&b.b.afterward, nil)
			<-time.After(3 * time.Second)
			return nil
		})
		b.publish("a")
		begun := time.Now()
		msg := b.next(b.subscribe(idem.SubscriberConfig{Lease: 2 * time.Second}))
		if took := time.Since(begun); took < 3*time.Second {
			b.Errorf("delivered after %v", took)
		}
		alive(b, msg)
		pass(time.Minute)
		alive(b, msg)
		msg.Ack()
		b.depth(0)
	})
}

func TestAnAcknowledgementInATransactionIsNoLoss(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.b.database = "shared"
		b.publish("a")
		msg := b.next(b.subscribe(idem.SubscriberConfig{}))
		b.must(delivery(b, msg).AckTx(b.Context(), nil))
		pass(10 * lease) // the handler has committed and takes its time
		alive(b, msg)
		msg.Ack()
		b.depth(0)
	})
}

func TestErrorsDoNotEndTheSubscription(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("a", "b")
		var calls atomic.Int64
		failing := func(context.Context) error { calls.Add(1); return errDown }
		b.b.set(&b.b.register, failing)
		ch := b.subscribe(idem.SubscriberConfig{})
		for _, hook := range []*func(context.Context) error{&b.b.register, &b.b.claim} {
			calls.Store(0)
			pass(10 * time.Minute)
			if tries := calls.Load(); tries < 100 || tries > 300 {
				b.Errorf("%d tries in ten minutes, want one every 2.5 to 5 s", tries)
			}
			b.b.set(hook, nil)
			begun := time.Now()
			msg := b.next(ch)
			if took := time.Since(begun); took > 5*time.Second {
				b.Errorf("recovered after %v", took)
			}
			b.b.set(&b.b.claim, failing)
			msg.Ack()
		}
	})
}

func TestAClaimThatFailsAfterItsCommitComesBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.b.set(&b.b.afterward, func(context.Context) error {
			b.b.set(&b.b.afterward, nil)
			return errDown
		})
		b.publish("a")
		begun := time.Now()
		msg := b.next(b.subscribe(idem.SubscriberConfig{Lease: time.Second}))
		if took := time.Since(begun); took < time.Second || took > 2*time.Second {
			b.Errorf("came after %v, want the lease of 1s", took)
		}
		msg.Ack()
		synctest.Wait()
	})
}
