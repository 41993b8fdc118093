package matrix

import (
	"context"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// A second application joins the group while the first runs handlers that do
// not stop when their partition is taken away, and while one message keeps
// failing. The new owner gets the messages meanwhile: it must neither run beside
// the old one nor lose what that one is not allowed to commit any more.
func TestRebalanceWithHandlersThatDoNotStop(t *testing.T) {
	t.Parallel() // it waits for a time-out
	on(t, []string{"kafka"}, func(t *testing.T, w *world) {
		w.cfg.Postgres.ClaimWait = 200 * time.Millisecond
		w.cfg.Postgres.MaxConns = 32
		op := w.operation("billing")
		op.Concurrency = 20
		op.Policy.MaxAttempts = 20
		op.Policy.Quick = -1
		op.Policy.Backoff = idem.Backoff{Base: 800 * time.Millisecond, Max: 800 * time.Millisecond}
		stubborn := ids(12) // some in each partition
		const failing = "99"
		var runs tally
		release := make(chan struct{})
		handler := func(dead bool) func(p *proc) idem.HandlerFunc[event] {
			return func(p *proc) idem.HandlerFunc[event] {
				return func(ctx context.Context, m idem.Message[event]) error {
					_, leave := runs.enter(m.Payload.ID)
					defer leave()
					if err := p.effect(ctx, m.Payload.ID); err != nil {
						return err
					}
					switch {
					case m.Payload.ID == failing:
						return errBlip
					case dead:
						<-release // whatever its context says
					}
					return nil
				}
			}
		}
		a := w.process(t, op, handler(true)).start()
		a.publish(append(stubborn, failing)...)
		a.awaitCount("handlers", len(stubborn), func() int { return runs.total() - runs.of(failing) })
		b := w.process(t, op, handler(false)).start()
		b.awaitCount("messages in the hand of the old owner", 1, func() int { return b.count(idem.Unavailable) })
		close(release)
		b.awaitEffects(stubborn...)
		runs.wantApart(t)
		if got := b.awaitDead(1); len(got) != 1 || got[0] != idem.ReasonExhausted {
			t.Errorf("dead letters %v, want one of the failing message", got)
		}
		runs.wantRuns(t, op.Policy.MaxAttempts, failing) // of all owners together
		if again := runs.total() - runs.of(failing); again == len(stubborn) {
			t.Error("no message had a second owner: the test has proved nothing")
		}
	})
}
