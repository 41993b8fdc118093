package middleware_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/outbox"
)

// refusing is a publisher whose broker does not take one topic for a while.
type refusing struct {
	message.Publisher
	topic string
	left  *atomic.Int32
}

func (r refusing) Publish(topic string, msgs ...*message.Message) error {
	if topic == r.topic && r.left.Add(-1) >= 0 {
		return errors.New("no such topic")
	}
	return r.Publisher.Publish(topic, msgs...)
}

// The dead-letter topic cannot be published to. The dead letter is safe, its
// message done with, and the copy comes when it can, once.
func TestDeadLetterTopicThatIsAway(t *testing.T) {
	var left atomic.Int32
	left.Store(3)
	o := benchOptions{app: func(c *idem.AppConfig) {
		relay, err := outbox.New(outbox.Config{Store: c.Store, Publisher: refusing{c.Transport.Publisher(), "orders.dlq", &left}})
		if err != nil {
			t.Fatal(err)
		}
		c.Services = []idem.Service{relay}
	}}
	inBubble(t, o, func(b *bench) {
		var calls atomic.Int32
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			calls.Add(1)
			return idem.Permanent(errBlip)
		})
		b.start()
		copies := b.tap("orders.dlq")
		b.publish(order{ID: "1"})
		b.settle(time.Millisecond)
		b.wantDead(idem.ReasonPermanent)
		b.wantBacklog("orders", "billing", 0)
		b.settle(time.Minute)
		if n := len(copies()); n != 1 || left.Load() >= 0 || calls.Load() != 1 {
			t.Errorf("%d copies, %d refusals left, %d handler runs; want 1 copy, none left and 1 run", n, left.Load(), calls.Load())
		}
	})
}

// The application ends while a message waits between two tries of one
// delivery: it neither waits for the second nor counts the first.
func TestShutdownBetweenTwoTries(t *testing.T) {
	inBubble(t, benchOptions{drain: time.Millisecond}, func(b *bench) {
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 2, Quick: 1, QuickDelay: 500 * time.Millisecond}}
		var calls, attempt atomic.Int32
		handle := func(ctx context.Context, m idem.Message[order]) error {
			if calls.Add(1) == 1 {
				return errBlip
			}
			attempt.Store(int32(m.Attempt))
			effect(ctx, m.Payload.ID)
			return nil
		}
		b.handle(op, handle)
		b.start()
		b.publish(order{ID: "1"})
		for calls.Load() == 0 {
			b.settle(time.Microsecond)
		}
		begun := time.Now()
		_ = b.halt() // may tell of the drain
		if took := time.Since(begun); took > 100*time.Millisecond {
			t.Errorf("the end took %v, want no wait", took)
		}
		before := calls.Load() // now and then the second try is due at once
		b.wantBacklog("orders", "billing", 2-int(before))
		b.restart(benchOptions{})
		b.handle(op, handle)
		b.start()
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"1": 1})
		b.wantDead()
		if attempt.Load() != before {
			t.Errorf("the run after the restart is attempt %d, want %d", attempt.Load(), before)
		}
	})
}

// The stack of a panic is for the log; what travels is short.
func TestPanicKeepsItsStackAtHome(t *testing.T) {
	for name, text := range map[string]string{"short": "index out of range", "long": "index out of range: " + strings.Repeat("far ", 20_000)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				op := idem.Operation{Policy: idem.Policy{MaxAttempts: 1, OnBug: idem.BugDeadLetters}}
				b.handle(op, func(context.Context, idem.Message[order]) error { panic(text) })
				b.start()
				copies := b.tap("orders.dlq")
				b.publish(order{ID: "1"})
				b.settle(time.Second)
				said := map[string]string{"dead letter": b.wantDead(idem.ReasonBug)[0].Error}
				for _, d := range copies() {
					for _, h := range d.Envelope.Headers {
						said["header "+h.Name] = string(h.Value)
					}
				}
				if !strings.Contains(said["dead letter"], "index out of range") || len(said) < 5 {
					t.Errorf("it is not told what happened: %q", said)
				}
				for where, text := range said {
					if len(text) > 512 || strings.Contains(text, ".go:") || strings.Contains(text, "goroutine ") {
						t.Errorf("%s has %d bytes: %.200q", where, len(text), text)
					}
				}
				if len(b.log.find("panicked")) != 1 {
					t.Error("the log does not tell of the panic")
				}
			})
		})
	}
}
