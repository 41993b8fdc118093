package matrix

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

// A run that ends well and is then refused by the database, or that ends the
// transaction behind our back, is counted: it neither runs for ever nor is
// acked without its effect.
func TestRunsThatCannotCommitAreCounted(t *testing.T) {
	const deferred = `CREATE TABLE IF NOT EXISTS checked (i int);
		CREATE OR REPLACE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'limit exceeded'; END $$;
		DROP TRIGGER IF EXISTS no ON checked;
		CREATE CONSTRAINT TRIGGER no AFTER INSERT ON checked DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION no()`
	for name, tc := range map[string]struct {
		handle func(ctx context.Context, p *proc) error
		dead   bool // else the consumer pauses
	}{
		"a statement's error is swallowed": {handle: func(ctx context.Context, p *proc) error {
			_ = p.exec(ctx, "INSERT INTO nowhere VALUES (1)")
			return nil
		}},
		"a deferred trigger refuses the commit": {dead: true, handle: func(ctx context.Context, p *proc) error {
			return errors.Join(p.exec(ctx, deferred), p.exec(ctx, "INSERT INTO checked VALUES (1)"))
		}},
		"the handler rolls back by itself": {handle: func(ctx context.Context, p *proc) error { return p.exec(ctx, "ROLLBACK") }},
	} {
		t.Run(name, func(t *testing.T) {
			w := worlds["postgres"](t)
			var runs atomic.Int32
			op := w.operation("billing")
			op.Policy.MaxAttempts = 3
			p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
				return func(ctx context.Context, m idem.Message[event]) error {
					runs.Add(1)
					if err := p.effect(ctx, m.Payload.ID); err != nil {
						return err
					}
					return tc.handle(ctx, p)
				}
			}).start()
			p.publish("1")
			if tc.dead {
				p.awaitDead(1)
			} else {
				p.await("pause", func() (bool, any) { reason := p.App.Consumer(op.Name).Gate.Paused(); return reason != "", runs.Load() })
			}
			p.wantOnce()
			if n := runs.Load(); n != 3 {
				t.Errorf("handler ran %d times, want its 3 attempts", n)
			}
		})
	}
}
