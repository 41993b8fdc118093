//go:build unix

package matrix

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// A process is frozen in the middle of a handler until its message belongs to
// another one, and then goes on as if nothing had happened.
func TestFrozenProcess(t *testing.T) {
	on(t, withPostgres, func(t *testing.T, w *world) {
		w.quicken()
		w.cfg.Postgres.ClaimWait = 100 * time.Millisecond
		op := w.operation("billing")
		op.Policy.MaxAttempts = 1
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error { return p.effect(ctx, m.Payload.ID) }
		})
		must(t, p.Store.Migrate(t.Context()))
		must(t, p.Transport.EnsureTopics(t.Context(), w.topic, op.RetryTopic(), w.topic+".dlq"))
		p.publish("1")
		c := w.spawn(t, "hold", "")
		c.expect("in hand")
		must(t, c.cmd.Process.Signal(syscall.SIGSTOP))
		p.start()
		p.awaitCount("deliveries to the new owner", 1, func() int { return p.count(idem.Unavailable) })
		must(t, c.in.Close())
		must(t, c.cmd.Process.Signal(syscall.SIGCONT))
		p.awaitEffects("1")
		p.publish("2") // both owners live: what comes now has one of them
		p.awaitEffects("1", "2")
		c.kill()
		p.wantOnce("1", "2")
		p.wantNoDead()
	})
}
