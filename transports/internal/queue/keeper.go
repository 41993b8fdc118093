package queue

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// hold is a claimed message whose outcome the database does not know yet.
type hold struct {
	Delivery
	delivery *idem.Delivery

	// ctx is the message's context.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// timer fires at the end of the lease by our clock. It was started before
	// the database's clock was read, so it never fires too late. Nil where
	// only Extend tells of a loss.
	timer *time.Timer
	lost  atomic.Bool
	// inTx: the delivery is removed in the handler's transaction, so that
	// its absence is not a loss.
	inTx atomic.Bool
}

// end ends the message's context.
func (h *hold) end(cause error) { h.cancel(cause) }

func (h *hold) lose() {
	h.lost.Store(true)
	h.cancel(idem.ErrLeaseLost)
}

// keeper renews the leases of a subscription for as long as it holds them.
type keeper struct {
	b       Backend
	lease   time.Duration
	untimed bool // see Options.LocksOutClaims
	log     *slog.Logger

	mu   sync.Mutex
	held map[Lease]*hold
}

func newKeeper(b Backend, lease time.Duration, untimed bool, log *slog.Logger) *keeper {
	return &keeper{b: b, lease: lease, untimed: untimed, log: log, held: make(map[Lease]*hold)}
}

// add takes care of d, whose claim began at the given time.
func (k *keeper) add(parent context.Context, d Delivery, begun time.Time) *hold {
	h := &hold{Delivery: d}
	h.ctx, h.cancel = context.WithCancelCause(parent)
	if !k.untimed {
		left := time.Until(begun.Add(k.lease))
		if left <= 0 { // the claim took too long: not even a moment to hand it out
			h.lose()
		}
		h.timer = time.AfterFunc(left, h.lose)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[d.Lease] = h
	return h
}

func (k *keeper) drop(h *hold) {
	if h.timer != nil {
		h.timer.Stop()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, h.Lease)
}

// run renews everything held three times per lease, and sooner after an error.
func (k *keeper) run(ctx context.Context) {
	pause := k.lease / 3
	for sleep(ctx, pause) {
		pause = k.lease / 3
		if err := k.renew(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("queue: cannot extend leases, will try again", "error", err)
			pause = k.lease / 10
		}
	}
}

func (k *keeper) renew(ctx context.Context) error {
	leases := k.leases()
	if len(leases) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(k.lease/3, callTimeout))
	defer cancel()
	begun := time.Now()
	lost, err := k.b.Extend(ctx, k.lease, leases...)
	if err != nil {
		return err
	}
	until := begun.Add(k.lease)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range leases {
		h, ok := k.held[l]
		switch {
		case !ok: // settled meanwhile
		case slices.Contains(lost, l) && !h.inTx.Load():
			h.lose()
		case h.timer != nil && h.timer.Stop():
			h.timer.Reset(time.Until(until))
		}
	}
	return nil
}

// leases lists what is held and not lost.
func (k *keeper) leases() []Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	leases := make([]Lease, 0, len(k.held))
	for l, h := range k.held {
		if !h.lost.Load() {
			leases = append(leases, l)
		}
	}
	return leases
}
