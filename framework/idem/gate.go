package idem

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Gate controls a consumer's intake: a transport fetches nothing while it is
// shut, so waiting costs neither an attempt nor a lease. The zero value is
// open. Safe for concurrent use.
type Gate struct {
	mu      sync.Mutex
	paused  string
	until   time.Time
	closed  bool
	changed chan struct{}
}

// Wait blocks while the gate is shut. It returns the context's error, or
// [ErrShuttingDown] once the gate is closed.
func (g *Gate) Wait(ctx context.Context) error {
	for {
		shut, wait, changed := g.state()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case g.Closed():
			return ErrShuttingDown
		case !shut:
			return nil
		}
		var timer <-chan time.Time
		var t *time.Timer
		if wait > 0 {
			t = time.NewTimer(wait)
			timer = t.C
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer:
		}
		if t != nil {
			t.Stop()
		}
	}
}

func (g *Gate) state() (shut bool, wait time.Duration, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	if g.paused != "" {
		return true, 0, g.changed
	}
	wait = time.Until(g.until)
	return wait > 0, wait, g.changed
}

// Pause shuts the gate until Resume. The first reason is kept.
func (g *Gate) Pause(reason string) {
	reason = cmp.Or(reason, "no reason given")
	g.update(func() {
		if g.paused == "" {
			g.paused = reason
		}
	})
}

// Resume opens the gate, whatever shut it, unless it is closed.
func (g *Gate) Resume() { g.update(func() { g.paused, g.until = "", time.Time{} }) }

// HoldFor shuts the gate for d from now; a longer hold in force stays.
func (g *Gate) HoldFor(d time.Duration) {
	g.update(func() {
		if t := time.Now().Add(d); t.After(g.until) {
			g.until = t
		}
	})
}

// Close shuts the gate for good: the consumer is draining.
func (g *Gate) Close() { g.update(func() { g.closed = true }) }

// Closed reports whether the consumer is draining.
func (g *Gate) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Paused returns the reason of a pause, and "" when there is none.
func (g *Gate) Paused() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused
}

// Changed returns a channel that is closed at the gate's next change.
func (g *Gate) Changed() <-chan struct{} {
	_, _, changed := g.state()
	return changed
}

func (g *Gate) update(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
