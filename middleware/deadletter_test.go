package middleware_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// tap subscribes to a topic and returns what arrived there so far.
func (b *bench) tap(topic string) func() []*idem.Delivery {
	b.t.Helper()
	sub, err := b.transport.Subscriber(idem.SubscriberConfig{Group: "tap-" + topic})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	msgs, err := sub.Subscribe(ctx, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	var got []*idem.Delivery
	done := make(chan struct{})
	b.t.Cleanup(func() { cancel(); sub.Close(); <-done })
	go func() {
		defer close(done)
		for msg := range msgs {
			d, _ := idem.DeliveryFrom(msg.Context())
			got = append(got, d)
			msg.Ack()
		}
	}()
	return func() []*idem.Delivery { return got } // read between settles only
}

func TestDeadLetterIsCopiedAndReplayed(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var fixed atomic.Bool
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			if !fixed.Load() {
				return idem.Permanent(errBlip)
			}
			effect(ctx, m.Key)
			return nil
		})
		b.start()
		copies := b.tap("orders.dlq")
		body := []byte("{\"id\":\"1\" ,\n \"extra\":\xe2\x82\xac}") // not what re-encoding would give
		body = []byte(strings.ReplaceAll(string(body), "\xe2\x82\xac", `"€"`))
		headers := []idem.Header{{Name: "a", Value: []byte{0, 255}}, {Name: "a", Value: []byte("again")}}
		b.publishRaw("orders", idem.Envelope{Key: []byte("k"), Headers: headers}, body)
		b.settle(time.Second)
		dead := b.wantDead(idem.ReasonPermanent)[0]
		if string(dead.Payload) != string(body) || string(dead.Envelope.Key) != "k" || len(dead.Envelope.Headers) != 2 ||
			string(dead.Envelope.Headers[0].Value) != "\x00\xff" || string(dead.Envelope.Headers[1].Value) != "again" {
			t.Errorf("dead letter is not byte for byte what came: %q %+v", dead.Payload, dead.Envelope)
		}
		if got := copies(); len(got) != 1 || string(got[0].Envelope.Key) != "k" {
			t.Fatalf("dead-letter topic got %d copies", len(got))
		}

		if err := b.letters.Replay(b.t.Context(), dead.ID, noOptions); err != nil {
			t.Fatal(err)
		}
		b.settle(time.Second)
		second := b.wantDead(idem.ReasonPermanent, idem.ReasonPermanent)[1]
		if second.Key != dead.Key || second.Topic != "orders" || second.Position != dead.Position || second.Replays != 1 {
			t.Errorf("second dead letter lost its identity: %+v", second)
		}
		if err := b.letters.Replay(b.t.Context(), dead.ID, noOptions); !errors.Is(err, deadletter.ErrNotParked) {
			t.Errorf("replay of what was replayed: %v, want ErrNotParked", err)
		}

		fixed.Store(true)
		if err := b.letters.Replay(b.t.Context(), second.ID, noOptions); err != nil {
			t.Fatal(err)
		}
		b.publishRaw("orders", idem.Envelope{Key: []byte("k"), Headers: headers}, body)
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"1": 1})
	})
}

func TestReplayRefusals(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var fail atomic.Bool
		fail.Store(true)
		b.handle(idem.Operation{Concurrency: 1}, func(ctx context.Context, m idem.Message[order]) error {
			if fail.Load() {
				return idem.Permanent(errBlip)
			}
			effect(ctx, m.Key)
			return nil
		})
		b.start()
		b.publish(order{ID: "1"}, order{ID: "2"})
		b.settle(time.Second)
		dead := b.wantDead(idem.ReasonPermanent, idem.ReasonPermanent)
		if err := b.letters.Discard(b.t.Context(), dead[0].ID, deadletter.By{}); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]error{"nope": idem.ErrNotFound, dead[0].ID: deadletter.ErrNotParked} {
			if err := b.letters.Replay(b.t.Context(), id, noOptions); !errors.Is(err, want) {
				t.Errorf("replay of %s: %v, want %v", id, err, want)
			}
		}
		// Two operators press the button at once: one replay.
		fail.Store(false)
		first := b.letters.Replay(b.t.Context(), dead[1].ID, noOptions)
		second := b.letters.Replay(b.t.Context(), dead[1].ID, noOptions)
		if first != nil || !errors.Is(second, deadletter.ErrNotParked) {
			t.Errorf("two replays: %v and %v", first, second)
		}
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"1": 0, "2": 1})
	})
}

// Fifty rounds of failing and replaying, with an error text of 100 KB: our
// headers stay bounded and constant, first things stay first.
func TestHeadersDoNotGrow(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{}, func(context.Context, idem.Message[order]) error {
			return idem.Permanent(errors.New(strings.Repeat("long ", 20_000)))
		})
		b.start()
		copies := b.tap("orders.dlq")
		b.publishRaw("orders", idem.Envelope{Headers: []idem.Header{{Name: "mine", Value: []byte("x")}}}, []byte(`{"id":"1"}`))
		b.settle(time.Second)
		for range 50 {
			parked, err := b.letters.List(b.t.Context(), idem.DeadLetterQuery{State: idem.DeadLetterParked})
			if err != nil || len(parked) != 1 {
				t.Fatalf("%d parked, %v", len(parked), err)
			}
			if err := b.letters.Replay(b.t.Context(), parked[0].ID, noOptions); err != nil {
				t.Fatal(err)
			}
			b.settle(time.Second)
		}
		got := copies()
		if len(got) != 51 {
			t.Fatalf("%d copies, want 51", len(got))
		}
		sizes := map[int]bool{}
		for i, d := range got {
			own, mine := 0, 0
			for _, h := range d.Envelope.Headers {
				if strings.HasPrefix(h.Name, idem.HeaderPrefix) {
					own += len(h.Name) + len(h.Value)
				} else if h.Name == "mine" {
					mine++
				}
			}
			if own > 4096 || mine != 1 {
				t.Fatalf("copy %d: %d bytes of our headers, user header %d times", i, own, mine)
			}
			if i > 9 { // the count of replays has two digits from here on
				sizes[own] = true
			}
		}
		if len(sizes) != 1 {
			t.Errorf("our headers change their size from hop to hop: %v", sizes)
		}
	})
}

func TestPoisonInFrontHoldsNobody(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{Concurrency: 1}, func(ctx context.Context, m idem.Message[order]) error {
			effect(ctx, "all")
			return nil
		})
		b.start()
		for _, body := range []string{`{"id":`, ``, `[]`, `{"id":"1","total":"many"}`, `{"id":"","total":1}`, "\xff\xfe", `{"id":"ok"}`} {
			b.publishRaw("orders", idem.Envelope{}, []byte(body))
		}
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"all": 1})
		b.wantDead(idem.ReasonUndecodable, idem.ReasonUndecodable, idem.ReasonMissingKey, idem.ReasonUndecodable, idem.ReasonMissingKey, idem.ReasonUndecodable)
		for _, r := range b.log.find("message settled") {
			if strings.Contains(r.Message, "many") {
				t.Error("a payload reached the log")
			}
		}
	})
}
