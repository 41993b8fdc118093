package middleware_test

import (
	"context"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Messages of a topic that are for other consumers are acknowledged unseen: they
// take no key from the consumer's own, and what is wrong with them is not its
// business.
func TestOthersAreSkipped(t *testing.T) {
	for _, tc := range []struct {
		name   string
		others idem.Selector
		with   func(kind, body string) (idem.Envelope, []byte)
	}{
		{"by header", idem.Selector{Header: "kind", Values: []string{"theirs"}}, func(kind, body string) (idem.Envelope, []byte) {
			return idem.Envelope{Headers: []idem.Header{{Name: "kind", Value: []byte(kind)}}}, []byte("{" + body + "}")
		}},
		{"by payload", idem.Selector{Pointer: "/kind", Values: []string{"theirs"}}, func(kind, body string) (idem.Envelope, []byte) {
			return idem.Envelope{}, []byte(`{"kind":"` + kind + `",` + body + "}")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				b.handle(idem.Operation{Others: tc.others}, func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, m.Payload.ID)
					return nil
				})
				b.start()
				publish := func(kind, body string) {
					e, payload := tc.with(kind, body)
					b.publishRaw("orders", e, payload)
				}
				publish("theirs", `"id":"1"`) // before ours, under the same key and with other content
				publish("theirs", `"noid":true`)
				b.settle(time.Minute)
				publish("ours", `"id":"1"`)
				b.settle(time.Minute)
				publish("theirs", `"id":"1"`)
				publish("neither", `"id":"2"`)
				b.settle(time.Minute)
				b.wantEffects(map[string]int64{"1": 1, "2": 1})
				b.wantDead()
			})
		})
	}
}

// A dead letter that is sent back is the consumer's, also when such messages are
// others' by now: it must not vanish.
func TestReplaysAreNotSkipped(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		taken := false
		b.handle(idem.Operation{Others: idem.Selector{Pointer: "/kind", Values: []string{"theirs"}}}, func(ctx context.Context, m idem.Message[order]) error {
			if !taken {
				return idem.Permanent(errBlip)
			}
			effect(ctx, m.Payload.ID)
			return nil
		})
		b.start()
		b.publishRaw("orders", idem.Envelope{}, []byte(`{"kind":"ours","id":"1"}`))
		b.settle(time.Minute)
		letter := b.dead()[0]
		taken = true
		must(t, b.letters.Replay(t.Context(), letter.ID, noOptions))
		out := idem.ReplayOf(letter) // as it would be for one from before the contract changed
		b.publishRaw(out.Topic, idem.Envelope{Headers: out.Headers}, []byte(`{"kind":"theirs","id":"2"}`))
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"1": 1})
		if n := len(b.dead()); n != 2 { // under the key of the first it is another message, and told
			t.Errorf("%d dead letters, want 2: the message on the retry topic was skipped", n)
		}
	})
}

func TestOthersAreChecked(t *testing.T) {
	for _, s := range []idem.Selector{{Header: "a", Pointer: "/b"}, {Pointer: "b"}, {Values: []string{"x"}}} {
		op := idem.Operation{Name: "a", Topic: "t", Key: idem.KeyFrom(idem.FromPayload("/id")), Others: s}
		if op.Validate() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
