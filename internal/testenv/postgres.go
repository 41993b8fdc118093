package testenv

import (
	"context"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a new, empty database, which is dropped when the test ends, also
// while connections to it are still open. Without a server the test skips, or fails when
// IDEM_REQUIRE names "postgres".
func Postgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv(envPostgres)
	if server == "" {
		if required("postgres") {
			t.Fatalf("needs PostgreSQL, which %s requires: set %s (scripts/brokers.sh up)", envRequire, envPostgres)
		}
		t.Skipf("needs PostgreSQL: set %s (scripts/brokers.sh up)", envPostgres)
	}
	dsn, err := url.Parse(server)
	if err != nil || dsn.Scheme == "" || dsn.Host == "" {
		t.Fatalf("%s must be a URL like postgres://user@127.0.0.1:15432/postgres", envPostgres)
	}

	name := "idem_" + unique()
	// template0 takes no connections, so nobody's session can stand in the way of copying it.
	if err := execute(server, `CREATE DATABASE `+name+` TEMPLATE template0`); err != nil {
		t.Fatalf("creating a test database on %s: %v (is it running? scripts/brokers.sh status)", dsn.Host, err)
	}
	t.Cleanup(func() {
		if err := execute(server, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("dropping test database %s: %v", name, err)
		}
	})
	dsn.Path = "/" + name
	return dsn.String()
}

func execute(server, sql string) error {
	// Not the test's own context: that one has ended when its cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	if closeErr := conn.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}
