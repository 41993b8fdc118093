package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestMigrateFromManyProcesses(t *testing.T) {
	t.Parallel()
	c := Config{DSN: testenv.Postgres(t), Schema: "own"}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := Migrate(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	newTransport(t, func(n *Config) { *n = c; n.NoMigrate = true })
}

func TestNoMigrateNeedsTables(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Config{DSN: testenv.Postgres(t), NoMigrate: true})
	if err == nil || !strings.Contains(err.Error(), "run postgres.Migrate") {
		t.Errorf("got %v, want to be told to migrate", err)
	}
}

// Several queues live side by side, under names that need quoting, and a
// transaction with another search_path finds the tables.
func TestNames(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	for _, schema := range []string{"", `odd "name"; DROP`} {
		for _, prefix := range []string{"", "Shop_"} {
			tr := newTransport(t, func(c *Config) { c.DSN, c.Schema, c.TablePrefix = dsn, schema, prefix })
			ch := subscribe(t, tr, idem.SubscriberConfig{Ordered: true})
			tx := begin(t, tr.b)
			exec(t, tx, `SET LOCAL search_path = pg_catalog`)
			if err := tr.PublishTx(t.Context(), tx, topic, newMessage(schema+prefix+"m")); err != nil {
				t.Fatal(err)
			}
			commit(t, tx)
			if got := receive(t, ch); got != schema+prefix+"m" {
				t.Errorf("schema %q, prefix %q: got %q", schema, prefix, got)
			}
		}
	}
}

func TestValidateNamesEveryField(t *testing.T) {
	t.Parallel()
	err := Config{TablePrefix: "x; DROP", MaxConns: 1, Schema: strings.Repeat("x", 64), Lease: -1}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"DSN", "TablePrefix", "MaxConns", "Schema", "Lease"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("error does not name %s: %v", field, err)
		}
	}
	err = Config{DSN: "postgres://user:secret@localhost:port/db"}.Validate()
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

// The queue never takes a connection of the user's pool.
func TestPoolGivesSettingsOnly(t *testing.T) {
	t.Parallel()
	c, err := pgxpool.ParseConfig(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	c.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tr := newTransport(t, func(c *Config) { c.DSN, c.Pool = "", pool })
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	publish(t, tr.b, msg("m", ""))
	receive(t, ch)
}

// The ack is part of the handler's transaction, over database/sql too.
func TestAckInSQLTransaction(t *testing.T) {
	t.Parallel()
	b := newQueue(t)
	db, err := sql.Open("pgx", b.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	publish(t, b, msg("m", ""))
	d := claim(t, b, 1, false)[0]
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.AckTx(t.Context(), tx, d.Lease); err != nil {
		t.Fatal(err)
	}
	if err := b.AckTx(t.Context(), tx, d.Lease); !errors.Is(err, idem.ErrLeaseLost) {
		t.Errorf("second ack: %v, want the lease to be lost", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := b.Depth(t.Context(), topic, group); n != 0 || err != nil {
		t.Errorf("depth %d, %v after the ack", n, err)
	}
	if err := b.AckTx(t.Context(), context.Background(), d.Lease); err == nil {
		t.Error("acknowledged in something that is no transaction")
	}
}
