package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

func TestMessageCarriesItsDelivery(t *testing.T) {
	inBubble(t, func(b *bench) {
		type key struct{}
		sent := idem.Envelope{Key: []byte("k"), Headers: []idem.Header{
			{Name: "a", Value: []byte("1")}, {Name: "b", Value: []byte{0xff}}, {Name: "a", Value: []byte("2")},
		}}
		msg := message.NewMessage("id", nil)
		msg.SetContext(idem.WithEnvelope(b.Context(), sent))
		b.must(b.t.Publisher().Publish(topic, msg))

		ctx, cancel := context.WithCancel(context.WithValue(b.Context(), key{}, "value"))
		ch, err := b.subscriber(idem.SubscriberConfig{}).Subscribe(ctx, topic)
		b.must(err)
		got := b.next(ch)
		d := delivery(b, got)
		want := &idem.Delivery{Topic: topic, Group: group, Position: "1", Envelope: sent, Attempt: 1, EnqueuedAt: time.Now()}
		if d.Topic != want.Topic || d.Group != want.Group || d.Position != want.Position || d.Attempt != want.Attempt ||
			!d.EnqueuedAt.Equal(want.EnqueuedAt) || d.AckTx != nil || !cmp.Equal(d.Envelope, want.Envelope) {
			b.Errorf("delivery is %+v, want %+v", d, want)
		}
		if want := (message.Metadata{"a": "2", "b": "\xff"}); !cmp.Equal(got.Metadata, want) || got.Payload != nil || got.UUID != "id" {
			b.Errorf("message is %q %q %q, want metadata %q and no payload", got.UUID, got.Metadata, got.Payload, want)
		}
		if got.Context().Value(key{}) != "value" {
			b.Error("the context lost the values of Subscribe's")
		}
		cancel()
		synctest.Wait()
		alive(b, got)
		got.Ack()
		b.closed(ch)
		endedWith(b, got, context.Canceled)
		b.depth(0)
	})
}

func TestUnsettledMessagesAreBounded(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.subscriber(idem.SubscriberConfig{Concurrency: 3})
		one, err := s.Subscribe(b.Context(), topic)
		b.must(err)
		two, err := s.Subscribe(b.Context(), "other")
		b.must(err)
		for _, topic := range []string{topic, "other"} {
			for range 10 {
				b.must(b.t.Publisher().Publish(topic, message.NewMessage("", nil)))
			}
		}
		inHand := make(chan *message.Message, 20)
		go func() {
			for one != nil || two != nil {
				var msg *message.Message
				var ok bool
				select {
				case msg, ok = <-one:
					if !ok {
						one = nil
					}
				case msg, ok = <-two:
					if !ok {
						two = nil
					}
				}
				if ok {
					inHand <- msg
				}
			}
		}()
		for settled := range 20 {
			synctest.Wait()
			if n, want := len(inHand), min(3, 20-settled); n != want {
				b.Fatalf("after %d settled messages, %d are in hand, want %d", settled, n, want)
			}
			(<-inHand).Ack()
		}
		b.must(s.Close())
	})
}

func TestAnEmptyQueueIsNotPolledHard(t *testing.T) {
	inBubble(t, func(b *bench) {
		ch := b.subscribe(idem.SubscriberConfig{})
		pass(time.Minute)
		if n := b.b.claims.Load(); n < 230 || n > 250 {
			b.Errorf("claimed %d times in a minute, want once per 250 ms", n)
		}
		begun := time.Now()
		b.publish("a")
		b.next(ch).Ack()
		if took := time.Since(begun); took != 0 {
			b.Errorf("a publish of this process was noticed after %v", took)
		}
	})
}

func TestWhatIsDueButCannotBeClaimedIsNotPolledHard(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.b.nextDue = func() (time.Duration, bool) { return 0, true }
		b.subscribe(idem.SubscriberConfig{})
		pass(time.Minute)
		if n := b.b.claims.Load(); n > 260 {
			b.Errorf("claimed %d times in a minute", n)
		}
	})
}

func TestNothingIsFetchedWhileTheGateIsShut(t *testing.T) {
	inBubble(t, func(b *bench) {
		gate := new(idem.Gate)
		gate.Pause("test")
		ch := b.subscribe(idem.SubscriberConfig{Gate: gate, Concurrency: 2})
		b.publish("a", "b", "c")
		pass(time.Hour)
		if n := b.b.claims.Load(); n != 0 {
			b.Fatalf("claimed %d times while paused", n)
		}
		gate.Resume()
		first, second := b.next(ch), b.next(ch)

		// It may shut while the subscriber waits for a free slot.
		gate.HoldFor(time.Minute)
		first.Ack()
		second.Ack()
		synctest.Wait()
		before := b.b.claims.Load()
		pass(time.Minute - time.Millisecond)
		if n := b.b.claims.Load() - before; n != 0 {
			b.Errorf("claimed %d times during a hold", n)
		}
		begun := time.Now()
		b.next(ch).Ack()
		if took := time.Since(begun); took != time.Millisecond {
			b.Errorf("fetched %v after the hold", took-time.Millisecond)
		}
	})
}

func TestClosingTheGateGivesBackWhatNobodyHasSeen(t *testing.T) {
	for name, shut := range map[string]func(*idem.Gate){
		"drain": func(g *idem.Gate) { g.Close() },
		"pause": func(g *idem.Gate) { g.Pause("bug") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				gate := new(idem.Gate)
				b.publish("a", "b", "c")
				ch := b.subscribe(idem.SubscriberConfig{Gate: gate, Concurrency: 3})
				inHand := b.next(ch)
				synctest.Wait()
				begun := time.Now()
				shut(gate)
				other := b.subscribe(idem.SubscriberConfig{Concurrency: 2})
				for range 2 {
					msg := b.next(other)
					if d := delivery(b, msg); d.Attempt != 1 {
						b.Errorf("attempt of %s is %d, want 1: nobody had seen it", msg.UUID, d.Attempt)
					}
					msg.Ack()
				}
				if took := time.Since(begun); took > 250*time.Millisecond {
					b.Errorf("given back after %v", took)
				}
				pass(10 * lease) // the message in hand keeps its lease
				alive(b, inHand)
				b.none(ch)
				inHand.Ack()
				b.depth(0)
			})
		})
	}
}

func TestCloseWaitsForUnsettledMessages(t *testing.T) {
	for name, stop := range map[string]func(context.CancelFunc, message.Subscriber){
		"Close":                      func(_ context.CancelFunc, s message.Subscriber) { s.Close() },
		"end of Subscribe's context": func(cancel context.CancelFunc, _ message.Subscriber) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.publish("acked", "nacked", "unseen")
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				s := b.subscriber(idem.SubscriberConfig{Concurrency: 3})
				ch, err := s.Subscribe(ctx, topic)
				b.must(err)
				acked, nacked := b.next(ch), b.next(ch)
				stopped := make(chan struct{})
				go func() { stop(cancel, s); close(stopped) }()

				pass(10 * lease)
				alive(b, acked)
				alive(b, nacked)
				b.none(ch)
				acked.Ack()
				b.none(ch)
				nacked.Nack()
				b.closed(ch)
				<-stopped
				b.depth(2)
				other := b.subscribe(idem.SubscriberConfig{Concurrency: 2})
				for _, want := range []struct {
					name    string
					attempt int
				}{{"unseen", 1}, {"nacked", 2}} {
					msg := b.next(other)
					if d := delivery(b, msg); msg.UUID != want.name || d.Attempt != want.attempt {
						b.Errorf("got attempt %d of %s, want %d of %s", d.Attempt, msg.UUID, want.attempt, want.name)
					}
					msg.Ack()
				}
				b.depth(0)
			})
		})
	}
}

func TestAMessageNobodyTakesGoesBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.subscriber(idem.SubscriberConfig{})
		b.publish("ignored")
		b.must(b.t.Publisher().Publish("other", message.NewMessage("wanted", nil)))
		if _, err := s.Subscribe(b.Context(), topic); err != nil {
			b.Fatal(err)
		}
		synctest.Wait() // it takes the only slot
		other, err := s.Subscribe(b.Context(), "other")
		b.must(err)
		begun := time.Now()
		b.next(other).Ack()
		if took := time.Since(begun); took > 10*lease {
			b.Errorf("the other topic waited for %v", took)
		}
		msg := b.next(b.subscribe(idem.SubscriberConfig{}))
		if d := delivery(b, msg); d.Attempt != 1 {
			b.Errorf("attempt is %d, want 1: nobody had seen it", d.Attempt)
		}
		msg.Ack()
	})
}

func TestSubscribeAfterCloseIsAnError(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := b.subscriber(idem.SubscriberConfig{})
		b.must(s.Close())
		b.must(s.Close())
		if _, err := s.Subscribe(b.Context(), topic); err == nil {
			b.Error("a closed subscriber subscribed")
		}
		if _, err := b.subscriber(idem.SubscriberConfig{}).Subscribe(b.Context(), ""); err == nil {
			b.Error("subscribed to no topic")
		}
		late := b.subscriber(idem.SubscriberConfig{})
		b.must(b.t.Close())
		if _, err := late.Subscribe(b.Context(), topic); err == nil {
			b.Error("subscribed to a closed transport")
		}
	})
}

func TestClosingTheTransportAbandonsWhatIsInHand(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.publish("settled", "in hand")
		ch := b.subscribe(idem.SubscriberConfig{Concurrency: 2})
		settled, inHand := b.next(ch), b.next(ch)
		settled.Ack()
		synctest.Wait()
		b.must(b.t.Close())
		b.closed(ch)
		endedWith(b, inHand, idem.ErrShuttingDown)
		inHand.Ack()
		b.depth(1)
	})
}

func TestOrderIsAskedForByTheSubscriber(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		inBubble(t, func(b *bench) {
			for _, id := range []string{"1", "2"} {
				msg := message.NewMessage(id, nil)
				msg.Metadata.Set(idem.MetadataKey, "key")
				b.must(b.t.Publisher().Publish(topic, msg))
			}
			ch := b.subscribe(idem.SubscriberConfig{Concurrency: 2, Ordered: ordered})
			first := b.next(ch)
			if !ordered {
				b.next(ch).Ack()
				first.Ack()
				return
			}
			b.none(ch)
			first.Nack()
			b.none(ch) // the second waits while the first is delayed
			again := b.next(ch)
			if again.UUID != "1" {
				b.Fatalf("got %s, want the first again", again.UUID)
			}
			begun := time.Now()
			again.Ack()
			b.next(ch).Ack()
			if took := time.Since(begun); took != 0 {
				b.Errorf("the second came %v after the first was acknowledged", took)
			}
		})
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	inBubble(t, func(b *bench) {
		for name, c := range map[string]idem.SubscriberConfig{
			"no group":             {},
			"negative concurrency": {Group: group, Concurrency: -1},
			"negative lease":       {Group: group, Lease: -time.Second},
			"lease of no use":      {Group: group, Lease: time.Millisecond},
		} {
			if _, err := b.t.Subscriber(c); err == nil {
				b.Errorf("%s: no error", name)
			}
		}
		for name, o := range map[string]queue.Options{
			"Lease":           {Lease: -1},
			"PollInterval":    {PollInterval: -1},
			"Retention":       {Retention: -1},
			"CleanEvery":      {CleanEvery: -1},
			"MaxMessageBytes": {MaxMessageBytes: -1},
			"PublishTimeout":  {PublishTimeout: -1},
		} {
			if _, err := queue.NewTransport("test", newFaulty(), o); err == nil {
				b.Errorf("a negative %s is no error", name)
			}
		}
		if c := b.t.Capabilities(); !c.DurableDelay || !c.OrderedByKey || !c.ConsumerGroups || c.Retention != 168*time.Hour || c.MaxMessageBytes != 16<<20 {
			b.Errorf("capabilities are %+v", c)
		}
		b.must(b.t.Ping(b.Context()))
		b.must(b.t.EnsureTopics(b.Context(), topic))
		if b.t.Name() != "test" {
			b.Errorf("name is %q", b.t.Name())
		}
	})
}
