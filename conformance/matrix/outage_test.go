package matrix

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// What the database says against a transaction counts for what it is, at the
// claim, at the handler's statement and at COMMIT: a lost race is run again at
// no attempt, a broken constraint is the message's fault.
func TestDatabaseErrors(t *testing.T) {
	on(t, withPostgres, func(t *testing.T, w *world) {
		op := w.operation("billing")
		op.Policy.MaxAttempts = 1
		var runs tally
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				if err := p.effect(ctx, m.Payload.ID); err != nil {
					return fmt.Errorf("insert effect: %w", err)
				}
				return nil
			}
		})
		must(t, p.Store.Migrate(t.Context()))
		admin := w.admin(t)
		_, err := admin.Exec(t.Context(), `
			CREATE TABLE faults (id text, place text, code text);
			CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$
			DECLARE
				struck text := CASE TG_ARGV[0] WHEN 'claim' THEN convert_from((to_jsonb(NEW)->>'key')::bytea, 'UTF8') ELSE to_jsonb(NEW)->>'id' END;
				c text;
			BEGIN
				SELECT code INTO c FROM faults WHERE id = struck AND place = TG_ARGV[0];
				-- A sequence keeps its count when the transaction is rolled back.
				IF c IS NOT NULL AND nextval('strikes_' || struck) <= 2 THEN
					RAISE EXCEPTION 'injected' USING ERRCODE = c;
				END IF;
				RETURN NEW;
			END $$;
			CREATE TRIGGER at_claim BEFORE INSERT ON idem_inbox FOR EACH ROW EXECUTE FUNCTION strike('claim');
			CREATE TRIGGER at_statement BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION strike('statement');
			CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION strike('commit')`)
		must(t, err)
		var passing, broken []string
		want := map[string]int{} // runs
		for _, place := range []string{"claim", "statement", "commit"} {
			for _, code := range []string{"40P01", "40001", "55P03", "57P01", "23514"} {
				id := fmt.Sprint(len(want))
				if want[id] = 3; code == "23514" {
					broken = append(broken, id)
					want[id] = 1
				} else {
					passing = append(passing, id)
				}
				if place == "claim" {
					want[id] -= min(want[id], 2)
				}
				_, err := admin.Exec(t.Context(), fmt.Sprintf(`CREATE SEQUENCE strikes_%s; INSERT INTO faults VALUES ('%[1]s', '%s', '%s')`, id, place, code))
				must(t, err)
			}
		}
		p.start().publish(append(slices.Clone(passing), broken...)...)
		p.awaitEffects(passing...)
		if got := p.awaitDead(len(broken)); !slices.Equal(got, slices.Repeat([]string{idem.ReasonPermanent}, len(broken))) {
			t.Errorf("dead letters %v, want one for each broken constraint", got)
		}
		for id, n := range want {
			runs.wantRuns(t, n, id)
		}
	})
}

// Two handlers lock two rows in opposite order. The database sacrifices one,
// which is run again and takes effect as well.
func TestDeadlock(t *testing.T) {
	on(t, withPostgres, func(t *testing.T, w *world) {
		op := w.operation("billing")
		op.Policy.MaxAttempts = 1
		var runs tally
		var both sync.WaitGroup
		both.Add(2)
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				run, leave := runs.enter(m.Payload.ID)
				defer leave()
				first, second := "a", "b"
				if m.Payload.ID == "1" {
					first, second = second, first
				}
				lock := func(row string) error {
					return p.exec(ctx, "UPDATE accounts SET balance = balance + 1 WHERE id = '"+row+"'")
				}
				if err := lock(first); err != nil {
					return err
				}
				if run == 1 {
					both.Done()
					both.Wait() // each has its first row
				}
				if err := lock(second); err != nil {
					return err
				}
				return p.effect(ctx, m.Payload.ID)
			}
		})
		admin := w.admin(t)
		_, err := admin.Exec(t.Context(), `CREATE TABLE accounts (id text, balance int); INSERT INTO accounts VALUES ('a', 0), ('b', 0)`)
		must(t, err)
		p.start().publish("0", "1")
		p.awaitEffects("0", "1")
		p.wantNoDead()
		var sum int
		must(t, admin.QueryRow(t.Context(), `SELECT sum(balance) FROM accounts`).Scan(&sum))
		if sum != 4 || runs.total() < 3 {
			t.Errorf("the rows were changed %d times in %d runs, want 4 times in at least 3", sum, runs.total())
		}
	})
}

// Far more handlers than connections: they wait for their turn.
func TestPoolSmallerThanTheConcurrency(t *testing.T) {
	on(t, withPostgres, func(t *testing.T, w *world) {
		w.cfg.Postgres.MaxConns = 2
		op := w.operation("billing")
		op.Concurrency = 32
		op.Policy.MaxAttempts = 1
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error { return p.effect(ctx, m.Payload.ID) }
		}).start()
		all := ids(100)
		p.publish(all...)
		p.awaitEffects(all...)
		p.wantNoDead()
	})
}

// The table of dead letters hangs. Storing one gives up in time and tries
// again with the message in hand; the handler is not run again, and the others
// do not wait.
func TestHangingDeadLetter(t *testing.T) {
	t.Parallel() // it waits for a time-out
	on(t, []string{"postgres"}, func(t *testing.T, w *world) {
		var runs tally
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				if m.Payload.ID == "7" {
					return idem.Permanent(errBlip)
				}
				return p.effect(ctx, m.Payload.ID)
			}
		}).start()
		admin := w.admin(t)
		lock, err := w.admin(t).Begin(t.Context())
		must(t, err)
		_, err = lock.Exec(t.Context(), `LOCK TABLE idem_dead_letters IN ACCESS EXCLUSIVE MODE`)
		must(t, err)
		all := ids(20)
		p.publish(all...)
		tries := map[time.Time]bool{}
		p.awaitCount("tries", 2, func() int {
			var begun *time.Time
			must(t, admin.QueryRow(t.Context(), `SELECT max(query_start) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&begun))
			if begun != nil {
				tries[*begun] = true
			}
			return len(tries)
		})
		p.wantOnce(without(all, "7")...)
		must(t, lock.Rollback(t.Context()))
		if got := p.awaitDead(1); len(got) != 1 || got[0] != idem.ReasonPermanent {
			t.Errorf("dead letters %v, want one", got)
		}
		runs.wantRuns(t, 1, all...)
	})
}

func without(all []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == id })
}
