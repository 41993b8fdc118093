package middleware_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
)

// With a prefix everything happens on the prefixed topics and nothing on the
// plain ones, while code, handlers and the ids of events know nothing of it.
func TestTopicPrefix(t *testing.T) {
	var ids []string
	for _, prefix := range []string{"", "eu."} {
		o := benchOptions{app: func(c *idem.AppConfig) {
			c.Config.TopicPrefix = prefix
			c.Config.Consumers = map[string]idem.OperationConfig{"shipping": {DeadLetterTopic: new("unshipped")}, "mail": {DeadLetterTopic: new("-")}}
		}}
		inBubble(t, o, func(b *bench) {
			seen := map[string]string{} // topic and id of what arrived, by consumer
			var mu sync.Mutex
			see := func(m idem.Info) {
				mu.Lock()
				defer mu.Unlock()
				seen[m.Consumer] = strings.Join([]string{m.Topic, m.ID}, " ")
			}
			b.handle(idem.Operation{Emits: []string{"invoices"}}, func(ctx context.Context, m idem.Message[order]) error {
				see(m.Info)
				effect(ctx, m.Payload.ID)
				if m.Payload.ID == "2" {
					return idem.Permanent(errBlip)
				}
				if err := idem.Emit(ctx, idem.Event{Topic: prefix + "invoices.", Payload: m.Payload}); err == nil {
					t.Error("a topic that is not among Emits is accepted")
				}
				return idem.Emit(ctx, idem.Event{Topic: "invoices", Payload: m.Payload})
			})
			for _, name := range []string{"shipping", "mail"} {
				b.handle(idem.Operation{Name: name, Topic: "invoices"}, func(ctx context.Context, m idem.Message[order]) error {
					see(m.Info)
					return idem.Permanent(errBlip)
				})
			}
			b.start()
			topics := []string{"orders.dlq", "unshipped", "invoices.dlq", "invoices"}
			taps := map[string]func() []*idem.Delivery{}
			for _, topic := range topics {
				taps[topic], taps["eu."+topic] = b.tap(topic), b.tap("eu."+topic)
			}
			b.publishRaw(prefix+"orders", idem.Envelope{}, []byte(`{"id":"1"}`))
			b.publishRaw(prefix+"orders", idem.Envelope{}, []byte(`{"id":"2"}`))
			b.settle(time.Minute)
			b.wantEffects(map[string]int64{"1": 1, "2": 0})
			got := map[string]int{}
			for topic, copies := range taps {
				got[topic] = len(copies())
			}
			want := map[string]int{"eu.orders.dlq": 0, "eu.unshipped": 0, "eu.invoices.dlq": 0, "eu.invoices": 0}
			for _, topic := range topics {
				want[topic] = 0
			}
			want[prefix+"orders.dlq"], want[prefix+"unshipped"], want[prefix+"invoices"] = 1, 1, 1
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("prefix %q: messages by topic (-want +got):\n%s", prefix, diff)
			}
			topic, id, _ := strings.Cut(seen["shipping"], " ")
			if topic != prefix+"invoices" || !strings.HasPrefix(seen["billing"], prefix+"orders ") {
				t.Errorf("prefix %q: consumers saw %v", prefix, seen)
			}
			ids = append(ids, id)
			for _, d := range b.dead() {
				if d.Consumer == "billing" {
					must(t, b.letters.Replay(t.Context(), d.ID, noOptions))
				}
			}
			b.settle(time.Minute)
			if n := len(taps[prefix+"orders.dlq"]()); n != 2 {
				t.Errorf("prefix %q: %d copies after a replay, want 2: it did not come back", prefix, n)
			}
		})
	}
	if ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("the event's id is %q without and %q with a prefix", ids[0], ids[1])
	}
}
