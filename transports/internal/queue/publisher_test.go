package queue_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

func TestPublishTakesTheEnvelopeFromMetadata(t *testing.T) {
	inBubble(t, func(b *bench) {
		msg := message.NewMessage("", []byte("x"))
		msg.Metadata = message.Metadata{"b": "2", "a": "1", idem.MetadataKey: "k"}
		b.must(b.t.Publisher().Publish(topic, msg))
		if msg.UUID != "" {
			b.Error("publishing changed the message")
		}
		got := b.next(b.subscribe(idem.SubscriberConfig{}))
		want := idem.Envelope{Key: []byte("k"), Headers: []idem.Header{{Name: "a", Value: []byte("1")}, {Name: "b", Value: []byte("2")}}}
		if d := delivery(b, got); !cmp.Equal(d.Envelope, want) || len(got.UUID) < 16 {
			b.Errorf("got %q with %+v, want a new uuid and %+v", got.UUID, d.Envelope, want)
		}
		got.Ack()
	})
}

func TestPublishOutlivesTheContextOfItsMessage(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		msg := message.NewMessage("late", nil)
		msg.SetContext(ctx)
		b.must(b.t.Publisher().Publish(topic, msg))
		b.next(b.subscribe(idem.SubscriberConfig{})).Ack()
	})
}

// hanging is a backend whose Publish waits for its context.
type hanging struct{ *faulty }

func (hanging) Publish(ctx context.Context, _ string, _ []queue.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestPublishIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, hanging{newFaulty()}, queue.Options{PublishTimeout: 3 * time.Second})
		begun := time.Now()
		if err := tr.Publisher().Publish(topic, message.NewMessage("a", nil)); err == nil {
			t.Error("no error")
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("took %v, want 3s", took)
		}
	})
}

func TestPublishRefusesWhatItCannotStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, newFaulty(), queue.Options{MaxMessageBytes: 100})
		large := message.NewMessage("a", []byte("secret"))
		large.Metadata.Set("h", strings.Repeat("x", 100))
		err := tr.Publisher().Publish(topic, message.NewMessage("", nil), large)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "message 2 of 2 has 108 bytes") {
			t.Errorf("got %v", err)
		}
		if err := tr.Publisher().Publish("", message.NewMessage("a", nil)); err == nil {
			t.Error("published to no topic")
		}
		if err := tr.Publisher().Publish(topic); err != nil {
			t.Errorf("publishing nothing: %v", err)
		}
		if n, _, err := tr.Depth(t.Context(), topic, group); n != 0 || err != nil {
			t.Errorf("stored %d, %v", n, err)
		}
	})
}

func TestOnlyTheTransportClosesThePublisher(t *testing.T) {
	inBubble(t, func(b *bench) {
		p := b.t.Publisher()
		b.must(p.Close())
		b.must(p.Publish(topic, message.NewMessage("a", nil)))
		b.must(b.t.Close())
		if err := p.Publish(topic, message.NewMessage("b", nil)); err == nil {
			b.Error("published after Close of the transport")
		}
		b.must(b.t.Close())
	})
}

func TestALargePublishIsSplit(t *testing.T) {
	inBubble(t, func(b *bench) {
		msgs := make([]*message.Message, 2500)
		for i := range msgs {
			msgs[i] = message.NewMessage("", nil)
		}
		b.must(b.t.Publisher().Publish(topic, msgs...))
		b.must(b.b.Register(b.Context(), topic, group))
		b.depth(len(msgs))
	})
}

func TestOldMessagesAreRemoved(t *testing.T) {
	const n = 5000 // many batches of the cleaner
	for after, retained := range map[time.Duration]int{59 * time.Minute: n, 62 * time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			f := newFaulty()
			b := &bench{T: t, b: f, t: newTransport(t, f, queue.Options{Retention: time.Hour, CleanEvery: time.Minute})}
			msgs := make([]*message.Message, n)
			for i := range msgs {
				msgs[i] = message.NewMessage("", nil)
			}
			b.must(b.t.Publisher().Publish(topic, msgs...))
			ch := b.subscribe(idem.SubscriberConfig{Concurrency: 100})
			for range n - 1 {
				b.next(ch).Ack()
			}
			unsettled := b.next(ch)
			pass(after)
			b.must(f.Register(t.Context(), topic, "late"))
			got, _, err := f.Depth(t.Context(), topic, "late")
			b.must(err)
			if got != retained {
				t.Errorf("a group that comes after %v gets %d messages, want %d", after, got, retained)
			}
			unsettled.Ack()
		})
	}
}

func TestTroubleIsLoggedWithoutPayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		f := newFaulty()
		b := &bench{T: t, b: f, t: newTransport(t, f, queue.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})}
		f.set(&f.ack, down)
		b.publish("secret")
		s := b.subscriber(idem.SubscriberConfig{})
		ch, err := s.Subscribe(t.Context(), topic)
		b.must(err)
		b.next(ch).Ack()
		pass(time.Second)
		f.set(&f.ack, nil)
		b.must(s.Close())
		log := out.String()
		for _, want := range []string{"cannot acknowledge", "database is down", "topic=" + topic, "group=" + group, "transport=test"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log does not say %q:\n%s", want, log)
			}
		}
		if strings.Contains(log, "secret") {
			t.Errorf("the log shows the payload:\n%s", log)
		}
	})
}
