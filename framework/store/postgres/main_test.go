package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a migrated store with a table for business rows.
func open(t testing.TB, cfg postgres.Config) *postgres.Store {
	t.Helper()
	if cfg.DSN == "" && cfg.Pool == nil {
		cfg.DSN = testenv.Postgres(t)
	}
	if cfg.ClaimWait == 0 {
		cfg.ClaimWait = time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := postgres.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// admin is a connection beside the store, with a business table.
func admin(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	exec(t, pool, `CREATE TABLE IF NOT EXISTS effect (id text NOT NULL)`)
	return pool
}

func exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func value[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) (v T) {
	t.Helper()
	if err := pool.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen in time that %s", what)
		}
	}
}

// untilWaiting returns when a session of the database waits for a lock.
func untilWaiting(t testing.TB, db *pgxpool.Pool) {
	t.Helper()
	until(t, "a session waits for a lock", func() bool {
		return value[int](t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	})
}

func native(tx idem.Tx) pgx.Tx { return tx.Native().(pgx.Tx) }

func effect(ctx context.Context, tx idem.Tx, id string) error {
	_, err := native(tx).Exec(ctx, `INSERT INTO effect (id) VALUES ($1)`, id)
	return err
}

func claim(key string) idem.Claim {
	return idem.Claim{Consumer: "shop", Key: key, Fingerprint: "f", Token: "t1", Retention: time.Hour}
}

var errUndo = errors.New("undo")

var done = idem.Update{Status: idem.StatusDone, Attempts: 1}

// attempt claims, writes and marks, as the engine does.
func attempt(s idem.Store, c idem.Claim) (rec idem.Record, err error) {
	ctx := context.Background()
	err = s.Do(ctx, func(tx idem.Tx) error {
		if rec, err = tx.Claim(ctx, c); err != nil || rec.Status == idem.StatusDone {
			return err
		}
		if err := effect(ctx, tx, c.Key); err != nil {
			return err
		}
		return tx.Save(ctx, c, done)
	})
	return rec, err
}
