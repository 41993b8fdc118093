package memory

import (
	"context"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// locks are the row locks of the database that this package stands in for:
// each belongs to one unit of work and is held until that ends.
type locks struct {
	mu   sync.Mutex
	held map[lockKey]*lock
}

// lockKey is a claimed key, or a dead letter when consumer is "" (no
// operation has an empty name).
type lockKey struct{ consumer, key string }

type lock struct {
	owner *unit
	freed chan struct{}
}

// acquire waits until owner holds k, at most for the given time.
func (l *locks) acquire(ctx context.Context, owner *unit, k lockKey, wait time.Duration) error {
	var timeout <-chan time.Time
	for {
		freed := l.try(owner, k)
		if freed == nil {
			return nil
		}
		if timeout == nil {
			t := time.NewTimer(wait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-freed:
		case <-timeout:
			return idem.ErrInFlight
		case <-ctx.Done():
			return failure("wait for a key", context.Cause(ctx))
		}
	}
}

// try returns nil when owner holds k now, else a channel that is closed when
// its holder ends.
func (l *locks) try(owner *unit, k lockKey) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch h := l.held[k]; {
	case h == nil:
		l.held[k] = &lock{owner: owner, freed: make(chan struct{})}
		owner.locked = append(owner.locked, k)
		return nil
	case h.owner == owner:
		return nil
	default:
		return h.freed
	}
}

func (l *locks) release(keys []lockKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		close(l.held[k].freed)
		delete(l.held, k)
	}
}
