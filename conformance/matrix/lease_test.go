package matrix

import (
	"context"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// A handler that takes many times the lease runs alone and once.
func TestHandlerLongerThanItsLease(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.cfg.Queue.Lease = 200 * time.Millisecond
		var runs tally
		handle := func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
				return p.effect(ctx, m.Payload.ID)
			}
		}
		a := w.process(t, w.operation("billing"), handle).start()
		w.process(t, w.operation("billing"), handle).start()
		a.publish("1")
		a.awaitEffects("1")
		runs.wantRuns(t, 1, "1")
	})
}

// A handler goes on although its message has been given to somebody else, who
// must wait for the key. If the old owner knows, its effect is rolled back; if
// not, it may still commit, and the new owner finds a duplicate.
func TestHandlerThatHasLostItsLease(t *testing.T) {
	for name, lease := range map[string]time.Duration{"known": 200 * time.Millisecond, "unknown": time.Minute} {
		t.Run(name, func(t *testing.T) {
			on(t, []string{"postgres"}, func(t *testing.T, w *world) { loseLease(t, w, lease) })
		})
	}
}

func loseLease(t *testing.T, w *world, lease time.Duration) {
	w.cfg.Queue.Lease = lease
	w.cfg.Postgres.ClaimWait = 100 * time.Millisecond
	op := w.operation("billing")
	op.Policy.MaxAttempts = 1
	known := lease < time.Second
	var runs tally
	entered, release := make(chan struct{}), make(chan struct{})
	a := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
		return func(ctx context.Context, m idem.Message[event]) error {
			_, leave := runs.enter(m.Payload.ID)
			defer leave()
			err := p.effect(ctx, m.Payload.ID)
			close(entered)
			if known {
				<-ctx.Done()
			}
			<-release
			return err
		}
	}).start()
	a.publish("1")
	<-entered
	a.App.Consumer(op.Name).Gate.Pause("so that the other one gets it")
	b := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
		return func(ctx context.Context, m idem.Message[event]) error {
			_, leave := runs.enter(m.Payload.ID)
			defer leave()
			return p.effect(ctx, m.Payload.ID)
		}
	}).start()
	_, err := w.admin(t).Exec(t.Context(), `UPDATE idem_queue_deliveries SET visible_at = now(), token = NULL`)
	must(t, err)
	b.awaitCount("deliveries to the new owner", 1, func() int { return b.count(idem.Unavailable) })
	close(release)
	b.awaitEffects("1")
	if known {
		a.awaitCount("the old owner giving up", 1, func() int { return a.count(idem.Abandon) })
		runs.wantRuns(t, 2, "1")
	} else {
		b.awaitCount("the new owner's duplicate", 1, func() int { return b.count(idem.Duplicate) })
		runs.wantRuns(t, 1, "1")
	}
	b.wantOnce("1")
	runs.wantApart(t)
	b.wantNoDead()
}
