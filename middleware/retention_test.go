package middleware_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// A message that comes again after a restart is compared with the keys of
// before it, whether the first clean-up has run or not: the retention alone
// decides.
func TestRedeliveryAfterARestart(t *testing.T) {
	const sweepEvery = 10 * time.Minute
	for _, tc := range []struct {
		away    time.Duration // between processing and restart
		wait    time.Duration // between restart and redelivery
		effects int64
	}{
		{time.Minute, time.Second, 1},
		{time.Minute, 2 * sweepEvery, 1},
		{3 * time.Hour, time.Second, 2},
		{3 * time.Hour, 2 * sweepEvery, 2},
	} {
		t.Run(fmt.Sprintf("away for %v, redelivered after %v", tc.away, tc.wait), func(t *testing.T) {
			o := benchOptions{app: func(c *idem.AppConfig) { c.Config.SweepEvery = sweepEvery }}
			inBubble(t, o, func(b *bench) {
				op := idem.Operation{Retention: time.Hour}
				count := func(ctx context.Context, m idem.Message[order]) error {
					effect(ctx, m.Payload.ID)
					return nil
				}
				b.handle(op, count)
				b.start()
				b.publish(order{ID: "1"})
				b.settle(time.Second)
				if err := b.halt(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tc.away)
				b.restart(o)
				b.handle(op, count)
				b.start()
				b.settle(tc.wait)
				b.publish(order{ID: "1"})
				b.settle(time.Second)
				b.wantEffects(map[string]int64{"1": tc.effects})
			})
		})
	}
}
