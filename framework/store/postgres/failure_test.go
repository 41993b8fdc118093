package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

// A SQLSTATE must reach the classifier from wherever it strikes, and only what
// is not the handler's own statement is the store's fault.
func TestSQLStateIsReachable(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn}), admin(t, dsn)
	exec(t, db, `
		CREATE TABLE fault (code text);
		CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE c text;
		BEGIN
			SELECT code INTO c FROM fault;
			IF c IS NOT NULL THEN RAISE EXCEPTION 'injected' USING ERRCODE = c; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER at_claim BEFORE INSERT ON idem_inbox FOR EACH ROW EXECUTE FUNCTION raise();
		CREATE TRIGGER at_handler BEFORE INSERT ON effect FOR EACH ROW EXECUTE FUNCTION raise();
		CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION raise()`)
	for _, place := range []string{"claim", "handler", "commit"} {
		for _, code := range []string{"40P01", "40001", "55P03", "57P01", "23514"} {
			t.Run(place+" "+code, func(t *testing.T) {
				exec(t, db, `TRUNCATE idem_inbox, effect`)
				for _, p := range []string{"claim", "handler", "commit"} {
					state, table := "DISABLE", map[bool]string{true: "idem_inbox", false: "effect"}[p == "claim"]
					if p == place {
						state = "ENABLE"
					}
					exec(t, db, fmt.Sprintf(`ALTER TABLE %s %s TRIGGER at_%s`, table, state, p))
				}
				exec(t, db, `INSERT INTO fault VALUES ($1)`, code)
				_, err := attempt(s, claim("k"))
				exec(t, db, `TRUNCATE fault`)

				var got interface{ SQLState() string }
				switch {
				case place == "claim" && code == "55P03":
					if !errors.Is(err, idem.ErrInFlight) || errors.Is(err, idem.ErrStore) {
						t.Fatalf("error %v, want ErrInFlight", err)
					}
				case !errors.As(err, &got) || got.SQLState() != code:
					t.Fatalf("error %v does not show SQLSTATE %s", err, code)
				case errors.Is(err, idem.ErrStore) != (place != "handler"):
					t.Fatalf("error %v: ErrStore must be there exactly if the handler is not to blame", err)
				case errors.Is(err, idem.ErrUnknownCommit):
					t.Fatalf("error %v: the server has answered, the outcome is known", err)
				}
				if n := value[int](t, db, `SELECT (SELECT count(*) FROM effect) + (SELECT count(*) FROM idem_inbox)`); n != 0 {
					t.Fatalf("%d rows were left by a failed attempt", n)
				}
				if _, err := attempt(s, claim("k")); err != nil {
					t.Fatalf("the next attempt failed: %v", err)
				}
			})
		}
	}
}

func TestSwallowedErrorDoesNotCommit(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn}), admin(t, dsn)
	for name, u := range map[string]idem.Update{
		"mark written by the claim": done,
		"mark sent with COMMIT":     {Status: idem.StatusDone, Attempts: 7},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Do(t.Context(), func(tx idem.Tx) error {
				if _, err := tx.Claim(t.Context(), claim("k")); err != nil {
					return err
				}
				if err := effect(t.Context(), tx, "k"); err != nil {
					return err
				}
				_, _ = native(tx).Exec(t.Context(), `SELECT 1/0`)
				return tx.Save(t.Context(), claim("k"), u)
			})
			var state interface{ SQLState() string }
			if !errors.Is(err, idem.ErrStore) || !errors.As(err, &state) || state.SQLState() != "25P02" || errors.Is(err, idem.ErrUnknownCommit) {
				t.Fatalf("error %v; want ErrStore with SQLSTATE 25P02", err)
			}
			if n := value[int](t, db, `SELECT (SELECT count(*) FROM effect) + (SELECT count(*) FROM idem_inbox)`); n != 0 {
				t.Fatalf("%d rows were committed", n)
			}
		})
	}
}

// A roll-back is usual: it must not cost a new connection.
func TestRollBackKeepsTheConnection(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{MaxConns: 1})
	pids := map[uint32]bool{}
	for _, fails := range []func(idem.Tx) error{
		func(idem.Tx) error { return errUndo },
		func(tx idem.Tx) error { _, err := tx.Claim(t.Context(), claim("k")); return errors.Join(err, errUndo) },
		func(tx idem.Tx) error { _, err := native(tx).Exec(t.Context(), `SELECT 1/0`); return err },
	} {
		err := s.Do(t.Context(), func(tx idem.Tx) error {
			pids[native(tx).Conn().PgConn().PID()] = true
			return fails(tx)
		})
		if err == nil {
			t.Fatal("committed what failed")
		}
	}
	if len(pids) != 1 {
		t.Fatalf("three roll-backs used %d connections, want 1", len(pids))
	}
}

func TestGoexitRollsBack(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn, MaxConns: 1}), admin(t, dsn)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Do(t.Context(), func(tx idem.Tx) error {
			_, err := tx.Claim(t.Context(), claim("k"))
			if err == nil {
				err = effect(t.Context(), tx, "k")
			}
			if err != nil {
				t.Error(err)
			}
			runtime.Goexit()
			return nil
		})
	}()
	<-ended
	if n := value[int](t, db, `SELECT count(*) FROM effect`); n != 0 {
		t.Fatalf("%d rows were committed", n)
	}
	if rec, err := attempt(s, claim("k")); err != nil || rec.Status != idem.StatusNew { // on the pool's only connection
		t.Fatalf("next attempt found %q, %v", rec.Status, err)
	}
}

// The server ends the session under the handler.
func TestTerminatedBackend(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn, MaxConns: 1}), admin(t, dsn)
	for _, returns := range []string{"the error", "nil"} {
		t.Run("handler returns "+returns, func(t *testing.T) {
			var failed error
			err := s.Do(t.Context(), func(tx idem.Tx) error {
				if _, err := tx.Claim(t.Context(), claim("k")); err != nil {
					return err
				}
				pid := native(tx).Conn().PgConn().PID()
				exec(t, db, `SELECT pg_terminate_backend($1)`, int(pid))
				until(t, "the session is gone", func() bool {
					return value[int](t, db, `SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, int(pid)) == 0
				})
				if returns == "nil" {
					return nil // COMMIT finds out
				}
				failed = effect(t.Context(), tx, "k")
				return failed
			})
			if returns == "nil" && !errors.Is(err, idem.ErrStore) {
				t.Fatalf("error %v, want ErrStore", err)
			}
			if returns != "nil" && (failed == nil || err != failed) {
				t.Fatalf("error %v, want the handler's %v as it is", err, failed)
			}
			if rec, err := attempt(s, claim(t.Name())); err != nil || rec.Status != idem.StatusNew {
				t.Fatalf("the pool did not recover: %q, %v", rec.Status, err)
			}
		})
	}
	if rec, err := attempt(s, claim("k")); err != nil || rec.Status != idem.StatusNew {
		t.Fatalf("the lost attempts left %q, %v", rec.Status, err)
	}
}

// A pooled connection that died unnoticed fails at BEGIN.
func TestBeginFails(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn, MaxConns: 1}), admin(t, dsn)
	for name, fn := range map[string]func(idem.Tx) error{
		"in Claim":          func(tx idem.Tx) error { _, err := tx.Claim(t.Context(), claim("k")); return err },
		"in Native":         func(tx idem.Tx) error { return effect(t.Context(), tx, "k") },
		"in Native, unseen": func(tx idem.Tx) error { _ = effect(t.Context(), tx, "k"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var pid uint32
			err := s.Do(t.Context(), func(tx idem.Tx) error { pid = native(tx).Conn().PgConn().PID(); return nil })
			if err != nil {
				t.Fatal(err)
			}
			exec(t, db, `SELECT pg_terminate_backend($1, 10000)`, int(pid))
			if err := s.Do(t.Context(), fn); !errors.Is(err, idem.ErrStore) || errors.Is(err, idem.ErrUnknownCommit) {
				t.Fatalf("error %v, want ErrStore", err)
			}
			if err := s.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestPoolExhaustion(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{MaxConns: 1, AcquireWait: 2 * time.Second})
	var nested error
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		nested = s.Do(t.Context(), func(idem.Tx) error { return nil })
		_, err := tx.Claim(t.Context(), claim("k"))
		return err
	})
	if err != nil {
		t.Fatalf("the outer transaction failed: %v", err)
	}
	if !errors.Is(nested, idem.ErrStore) || !strings.Contains(nested.Error(), "1 of 1 are in use") {
		t.Fatalf("nested Do returned %v; want ErrStore that tells of the pool", nested)
	}
}

// A handler that forgets an open result keeps the connection busy.
func TestConnectionLeftBusyIsNotReused(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{MaxConns: 1})
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		_, err := native(tx).Query(t.Context(), `SELECT generate_series(1, 100000)`)
		return err
	})
	if !errors.Is(err, idem.ErrStore) || errors.Is(err, idem.ErrUnknownCommit) {
		t.Fatalf("error %v, want ErrStore and the outcome known", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNativeTransactionIsGuarded(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn}), admin(t, dsn)
	var leaked pgx.Tx
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		leaked = native(tx)
		if leaked.Commit(t.Context()) == nil || leaked.Rollback(t.Context()) == nil {
			t.Error("a handler could end the store's transaction")
		}
		err := pgx.BeginFunc(t.Context(), leaked, func(sp pgx.Tx) error { // a savepoint
			_, err := sp.Exec(t.Context(), `INSERT INTO effect VALUES ('undone')`)
			return errors.Join(err, errors.New("undo"))
		})
		if err == nil || !strings.Contains(err.Error(), "undo") {
			return fmt.Errorf("savepoint: %w", err)
		}
		return effect(t.Context(), tx, "k")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := value[string](t, db, `SELECT string_agg(id, ',') FROM effect`); got != "k" {
		t.Fatalf("committed %q, want k", got)
	}
	if _, err := leaked.Exec(t.Context(), `INSERT INTO effect VALUES ('stray')`); !errors.Is(err, pgx.ErrTxClosed) {
		t.Fatalf("use after the end returned %v, want ErrTxClosed", err)
	}
	if _, err := leaked.Query(context.Background(), `SELECT 1`); !errors.Is(err, pgx.ErrTxClosed) {
		t.Fatalf("query after the end returned %v, want ErrTxClosed", err)
	}
}

func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	_, err := postgres.New(t.Context(), postgres.Config{DSN: "postgres://nobody@127.0.0.1:1/none?sslmode=disable"})
	if !errors.Is(err, idem.ErrStore) {
		t.Fatalf("error %v, want ErrStore", err)
	}
}
