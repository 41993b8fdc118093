package queue

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff spaces the tries of a loop whose backend fails.
type backoff struct{ next time.Duration }

const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// pause waits longer each time, with jitter; false when ctx has ended.
func (b *backoff) pause(ctx context.Context) bool {
	b.next = min(max(2*b.next, firstPause), longestPause)
	return sleep(ctx, jitter(b.next))
}

func (b *backoff) reset() { b.next = 0 }

// nackDelay spaces the redelivery of a message whose handler did not say when
// it should come back.
func nackDelay(attempt int) time.Duration {
	const base, most = 100 * time.Millisecond, 30 * time.Second
	if attempt > 9 {
		return most
	}
	return min(base<<max(attempt-1, 0), most)
}

// jitter draws from [d/2, d].
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/2+1)
}

// sleep waits for d; false when ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
