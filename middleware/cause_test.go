package middleware_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// causes counts the observations by cause.
func (b *bench) causes() map[idem.Cause]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[idem.Cause]int{}
	for _, o := range b.seen {
		if o.Cause != "" {
			n[o.Cause]++
		}
	}
	return n
}

// The observer is told why a message came whose key was known.
func TestCausesOfDuplicates(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{}, takeEffect)
		b.start()
		b.publish(order{ID: "1", Total: 10}, order{ID: "1", Total: 10}, order{ID: "1", Total: 10}, order{ID: "1", Total: 20}, order{ID: "2"})
		b.settle(time.Second)
		if diff := cmp.Diff(map[idem.Cause]int{idem.CauseProducer: 2, idem.CauseKeyReuse: 1}, b.causes()); diff != "" {
			t.Error(diff)
		}
	})
}

// A replay that comes after somebody completed the key says so.
func TestCauseOfALateReplay(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		broken := true
		b.handle(idem.Operation{}, func(ctx context.Context, m idem.Message[order]) error {
			if broken {
				return idem.Permanent(errBlip)
			}
			return takeEffect(ctx, m)
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(time.Second)
		dead := b.wantDead(idem.ReasonPermanent)
		broken = false
		must(t, b.letters.Replay(t.Context(), dead[0].ID, deadletter.ReplayOptions{}))
		full, err := b.letters.Get(t.Context(), dead[0].ID)
		must(t, err)
		full.Replays-- // the same replay published twice
		again := idem.ReplayOf(full)
		again.ID += "-again"
		must(t, b.store.Do(t.Context(), func(tx idem.Tx) error { return tx.Emit(t.Context(), again) }))
		b.settle(time.Second)
		b.wantEffects(map[string]int64{"1 0": 1})
		if diff := cmp.Diff(map[idem.Cause]int{idem.CauseReplay: 1}, b.causes()); diff != "" {
			t.Error(diff)
		}
	})
}
