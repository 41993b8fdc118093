package middleware_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// A message that was edited and replayed is still the same message: it may
// fail again and be replayed again, and a copy of the original is a duplicate.
func TestEditedMessageKeepsItsIdentity(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			switch {
			case m.Payload.Total < 10:
				return idem.Permanent(errBlip)
			case m.Payload.Total == 10 && m.Info.Attempt < 3: // also over a retry
				return idem.Transient(errBlip)
			}
			return takeEffect(ctx, m)
		})
		b.start()
		b.publish(order{ID: "1", Total: 1})
		b.settle(time.Second)
		first := b.wantDead(idem.ReasonPermanent)[0]
		edit := func(id, patch string) {
			_, err := b.letters.Transform(t.Context(), id, deadletter.Change{MergePatch: json.RawMessage(patch)}, deadletter.By{Actor: "ana"})
			must(t, err)
			must(t, b.letters.Replay(t.Context(), id, deadletter.ReplayOptions{}))
		}
		edit(first.ID, `{"total":2}`)
		b.settle(time.Second)
		second := b.wantDead(idem.ReasonPermanent, idem.ReasonPermanent)[1]
		if second.Fingerprint != first.Fingerprint || second.Replays != 1 || string(second.Payload) != `{"id":"1","total":2}` {
			t.Errorf("the second dead letter is %+v", second)
		}
		edit(second.ID, `{"total":10}`)
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"1 10": 1})
		b.publish(order{ID: "1", Total: 1}) // the original once more
		b.settle(time.Second)
		if diff := cmp.Diff(map[idem.Cause]int{idem.CauseProducer: 1}, b.causes()); diff != "" {
			t.Error(diff)
		}
	})
}
