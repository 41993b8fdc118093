package matrix

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// Two environments on one broker and database, told apart by their prefixes
// alone: what is emitted, given up and replayed stays where it belongs.
func TestTopicPrefixSeparatesEnvironments(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		base := w.topic
		fixed := make(chan struct{})
		start := func(prefix string) (p *proc, publish func(id string)) {
			w.cfg.TopicPrefix = prefix + base + "."
			p = w.app(t)
			orders := idem.Operation{Name: prefix + "billing-" + base, Topic: "orders", Key: coarse, Emits: []string{"invoices"}}
			must(t, idem.Register(p.App, orders, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
				return idem.Emit(ctx, idem.Event{Topic: "invoices", Payload: m.Payload})
			})))
			invoices := idem.Operation{Name: prefix + "mail-" + base, Topic: "invoices", Key: coarse, DeadLetterTopic: "unsent"}
			must(t, idem.Register(p.App, invoices, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
				select {
				case <-fixed:
					return p.effect(ctx, m.Payload.ID)
				default:
					return idem.Permanent(errBlip)
				}
			})))
			topic := w.cfg.Topic("orders")
			return p.start(), func(id string) {
				must(t, p.Transport.Publisher().Publish(topic, p.message(idem.Envelope{Key: []byte(id)}, []byte(`{"id":"`+id+`"}`))))
			}
		}
		eu, publishEU := start("eu.")
		copies := func(p *proc, prefix string) func() []*message.Message { return p.tap(prefix + base + ".unsent") }
		us, publishUS := start("us.")
		inEU, inUS := copies(eu, "eu."), copies(us, "us.")
		publishEU("1")
		publishUS("2")
		eu.awaitDead(2)
		eu.awaitCount("copies", 1, func() int { return len(inEU()) })
		eu.awaitCount("copies", 1, func() int { return len(inUS()) })
		close(fixed)
		for _, d := range eu.dead() {
			must(t, eu.DeadLetters.Replay(t.Context(), d.ID, deadletter.ReplayOptions{}))
		}
		eu.awaitEffects("1", "2")
		if string(inEU()[0].Payload) != `{"id":"1","amount":0}` || len(inEU())+len(inUS()) != 2 {
			t.Errorf("eu's dead letters are %d, the first %s; us has %d", len(inEU()), inEU()[0].Payload, len(inUS()))
		}
	})
}
