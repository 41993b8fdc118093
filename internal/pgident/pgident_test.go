package pgident_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/internal/pgident"
	"github.com/idem-go/idem/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Two ways to one database have one identity, two databases of one server do not.
func TestDatabase(t *testing.T) {
	dsn := testenv.Postgres(t)
	alias, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := alias.Query()
	query.Set("application_name", "alias")
	alias.RawQuery = query.Encode()

	one, same, other := identity(t, dsn), identity(t, alias.String()), identity(t, testenv.Postgres(t))
	if one != same {
		t.Errorf("one database is %q and %q", one, same)
	}
	if one == other {
		t.Errorf("two databases are both %q", one)
	}
}

// An unprivileged role sees the same identity as the one that owns everything.
func TestDatabaseNeedsNoPrivilege(t *testing.T) {
	dsn := testenv.Postgres(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	want, err := pgident.Database(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`CREATE ROLE idem_nobody`, `SET LOCAL ROLE idem_nobody`} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Skipf("this role cannot %s: %v", sql, err)
		}
	}
	if got, err := pgident.Database(t.Context(), tx); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func identity(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	id, err := pgident.Database(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
