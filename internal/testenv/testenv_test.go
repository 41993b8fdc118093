package testenv

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is how a test ended that ran against a probe.
type outcome struct {
	skipped, failed string
}

// probe stands for a test that may skip or fail without doing so to the test around it.
type probe struct {
	testing.TB
	outcome
	cleanups []func()
}

type stop struct{}

func (p *probe) Helper()                        {}
func (p *probe) Cleanup(f func())               { p.cleanups = append(p.cleanups, f) }
func (p *probe) Skipf(format string, _ ...any)  { p.skipped = format; panic(stop{}) }
func (p *probe) Fatalf(format string, _ ...any) { p.failed = format; panic(stop{}) }
func (p *probe) Errorf(format string, _ ...any) { p.failed = format }

// run calls f as the body of a test of its own and tells how that ended.
func run(t *testing.T, f func(testing.TB)) outcome {
	t.Helper()
	p := &probe{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(stop{}) {
				panic(r)
			}
		}()
		f(p)
	}()
	for _, cleanup := range p.cleanups {
		cleanup()
	}
	return p.outcome
}

func TestMissingServers(t *testing.T) {
	postgres := func(t testing.TB) { Postgres(t) }
	kafka := func(t testing.TB) {
		if brokers, real := Kafka(t); real || len(brokers) == 0 {
			t.Errorf("got brokers %v, real %v; want the stand-in", brokers, real)
		}
	}
	for _, tc := range []struct {
		name, require string
		test          func(testing.TB)
		skips, fails  bool
	}{
		{"PostgreSQL is optional", "", postgres, true, false},
		{"only Kafka is required", "kafka", postgres, true, false},
		{"PostgreSQL is required", "postgres", postgres, false, true},
		{"Kafka is optional", "", kafka, false, false},
		{"only PostgreSQL is required", "postgres", kafka, false, false},
		{"Kafka is required", "postgres, kafka", kafka, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(envPostgres, "")
			t.Setenv(envKafka, "")
			t.Setenv(envRequire, tc.require)
			got := run(t, tc.test)
			if (got.skipped != "") != tc.skips || (got.failed != "") != tc.fails {
				t.Errorf("got %+v, want skips=%v fails=%v", got, tc.skips, tc.fails)
			}
		})
	}
}

func TestMissingBrowser(t *testing.T) {
	chromium := func(t testing.TB) { Chromium(t) }
	t.Setenv(envChromium, "")
	t.Setenv("PATH", t.TempDir())
	t.Setenv(envRequire, "postgres")
	if got := run(t, chromium); got.skipped == "" {
		t.Errorf("no browser: got %+v, want a skip", got)
	}
	t.Setenv(envRequire, "chromium")
	if got := run(t, chromium); got.failed == "" {
		t.Errorf("no browser, and one is required: got %+v, want a failure", got)
	}
	t.Setenv(envChromium, "/no/such/browser")
	if got := run(t, chromium); got.failed == "" {
		t.Errorf("the browser that is named is not there: got %+v, want a failure", got)
	}
}

func TestUnreachableServersFail(t *testing.T) {
	t.Setenv(envPostgres, "postgres://idem@127.0.0.1:1/postgres?connect_timeout=2")
	t.Setenv(envKafka, "127.0.0.1:1")
	for name, test := range map[string]func(testing.TB){
		"PostgreSQL": func(t testing.TB) { Postgres(t) },
		"Kafka":      func(t testing.TB) { Kafka(t) },
	} {
		if got := run(t, test); got.failed == "" {
			t.Errorf("%s does not answer: got %+v, want a failure", name, got)
		}
	}
}

func TestPostgresIsEmptyOwnAndDroppedDespiteOpenConnections(t *testing.T) {
	if os.Getenv(envPostgres) == "" {
		Postgres(t) // skips or fails as it should
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var dsn string
	var open *pgx.Conn
	got := run(t, func(tb testing.TB) {
		dsn = Postgres(tb)
		if other := Postgres(tb); other == dsn {
			t.Errorf("two calls gave the same database %s", dsn)
		}
		var err error
		if open, err = pgx.Connect(ctx, dsn); err != nil {
			t.Fatal(err)
		}
		var tables int
		if err := open.QueryRow(ctx, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil || tables != 0 {
			t.Errorf("got %d tables, error %v; want an empty database", tables, err)
		}
	})
	if got != (outcome{}) {
		t.Fatalf("got %+v, want success", got)
	}
	defer func() { _ = open.Close(ctx) }()
	if _, err := open.Exec(ctx, `SELECT 1`); err == nil {
		t.Error("a connection outlived its database")
	}
	const invalidCatalogName = "3D000"
	var pgErr *pgconn.PgError
	if _, err := pgx.Connect(ctx, dsn); !errors.As(err, &pgErr) || pgErr.Code != invalidCatalogName {
		t.Errorf("connecting after the test: got %v, want that the database is gone", err)
	}
}

func TestTopic(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	t.Run("Größe/with spaces, and a name longer than any broker would take", func(t *testing.T) {
		a, b := Topic(t), Topic(t)
		if !valid.MatchString(a) {
			t.Errorf("got %q, which does not match %s", a, valid)
		}
		if a == b {
			t.Errorf("two calls gave the same topic %s", a)
		}
		if !strings.HasPrefix(a, "t_testtopic_gr") {
			t.Errorf("got %q, want the test's name in it", a)
		}
	})
}
