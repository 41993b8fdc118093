package proof

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/internal/sqlitedb"
	"github.com/idem-go/idem/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a database and a store on it.
type place struct {
	db    idemsql.DB
	store idem.Store
}

func onSQLite(t *testing.T) place {
	t.Helper()
	db, err := sqlitedb.Open(filepath.Join(t.TempDir(), "idem.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s, err := sqldb.New(sqldb.Config{DB: db, Identity: t.TempDir()})
	return ready(t, place{sqldb.SQL(db), s}, err)
}

func onPostgres(t *testing.T) place {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), postgres.Config{Pool: pool})
	return ready(t, place{postgres.SQL(pool), s}, err)
}

func ready(t *testing.T, p place, err error) place {
	t.Helper()
	if err == nil {
		err = p.store.Migrate(t.Context())
	}
	if err == nil {
		_, err = p.db.Exec(t.Context(), `CREATE TABLE things (id TEXT PRIMARY KEY, n BIGINT NOT NULL, note TEXT, good BOOLEAN NOT NULL, weight DOUBLE PRECISION NOT NULL)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// unit runs f in a unit of work of the store: its error is what the engine makes
// of f's.
func unit(t *testing.T, s idem.Store, f func(context.Context) error) error {
	t.Helper()
	e, err := idem.NewEngine(s, nil, idem.Classifier{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	op := idem.Operation{Name: "proof", Topic: "things", Key: idem.KeyFrom(idem.FromHeader("id"))}
	c, err := idem.NewConsumer(e, op, idem.HandlerFunc[[]byte](func(ctx context.Context, _ idem.Message[[]byte]) error { return f(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	msg := message.NewMessage("m", nil)
	msg.Metadata.Set("id", t.Name())
	return c.Process(msg)
}

func everywhere(t *testing.T, f func(t *testing.T, open func(*testing.T) place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, onSQLite) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, onPostgres) })
}

// statements is what handlers write, in one text for all databases.
func statements(ctx context.Context, t *testing.T, db idemsql.DB) {
	t.Helper()
	const insert = `INSERT INTO things (id, n, note, good, weight) VALUES ($1, $2, $3, $4, $5)`
	for _, args := range [][]any{{"a", 1, nil, true, 0.5}, {"b", int64(1) << 62, "é\n'$1'", false, -1.25}, {"c", 3, "", true, 0.0}} {
		if n, err := db.Exec(ctx, insert, args...); err != nil || n != 1 {
			t.Fatalf("insert: %d rows, %v", n, err)
		}
	}
	if n, err := db.Exec(ctx, `INSERT INTO things (id, n, good, weight) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`, "a", 9, false, 9.0); err != nil || n != 0 {
		t.Errorf("insert of what is there: %d rows, %v", n, err)
	}
	if n, err := db.Exec(ctx, `UPDATE things SET n = n + $1 WHERE n < $2`, 10, 100); err != nil || n != 2 {
		t.Errorf("update: %d rows, %v", n, err)
	}
	var n int64
	if err := db.QueryRow(ctx, `INSERT INTO things (id, n, good, weight) VALUES ($1, $2, $3, $4) RETURNING n`, "d", 4, true, 1.0).Scan(&n); err != nil || n != 4 {
		t.Errorf("returning: %d, %v", n, err)
	}
	var (
		note   *string
		good   bool
		weight float64
	)
	// A placeholder again, and a column of every type.
	err := db.QueryRow(ctx, `SELECT n, note, good, weight FROM things WHERE id = $1 AND $1 <> $2`, "b", "x").Scan(&n, &note, &good, &weight)
	if err != nil || n != 1<<62 || note == nil || *note != "é\n'$1'" || good || weight != -1.25 {
		t.Errorf("read %d, %v, %v, %v, %v", n, note, good, weight, err)
	}
	if err := db.QueryRow(ctx, `SELECT note FROM things WHERE id = $1`, "a").Scan(&note); err != nil || note != nil {
		t.Errorf("NULL is %v, %v", note, err)
	}
	err = db.QueryRow(ctx, `SELECT n FROM things WHERE id = $1`, "nobody").Scan(&n)
	if !errors.Is(err, idemsql.ErrNoRows) || !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
	if got := ids(ctx, t, db); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("the rows are %q", got)
	}
	if n, err := db.Exec(ctx, `DELETE FROM things WHERE id = $1`, "d"); err != nil || n != 1 {
		t.Errorf("delete: %d rows, %v", n, err)
	}
}

func ids(ctx context.Context, t *testing.T, db idemsql.DB) (out []string) {
	t.Helper()
	rows, err := db.Query(ctx, `SELECT id FROM things ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	if err := errors.Join(rows.Err(), rows.Close(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSameTextRunsEverywhere(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(*testing.T) place) {
		t.Run("on the pool", func(t *testing.T) {
			p := open(t)
			statements(t.Context(), t, p.db)
			if got := ids(t.Context(), t, p.db); len(got) != 3 {
				t.Errorf("%q are there", got)
			}
		})
		t.Run("committed with the unit of work", func(t *testing.T) {
			p := open(t)
			err := unit(t, p.store, func(ctx context.Context) error {
				statements(ctx, t, p.db)
				if got := ids(t.Context(), t, p.db); len(got) != 0 {
					t.Errorf("others see %q before the commit", got)
				}
				return nil
			})
			if got := ids(t.Context(), t, p.db); err != nil || len(got) != 3 {
				t.Errorf("%q are there, %v", got, err)
			}
		})
		t.Run("rolled back with the unit of work", func(t *testing.T) {
			p := open(t)
			no := errors.New("no")
			err := unit(t, p.store, func(ctx context.Context) error {
				statements(ctx, t, p.db)
				return no
			})
			if got := ids(t.Context(), t, p.db); !errors.Is(err, no) || len(got) != 0 {
				t.Errorf("%q are there, %v", got, err)
			}
		})
	})
}

func TestStatementsThatFail(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(*testing.T) place) {
		p := open(t)
		var n int
		if _, err := p.db.Exec(t.Context(), `NONSENSE`); err == nil {
			t.Error("Exec of nonsense passed")
		}
		if err := p.db.QueryRow(t.Context(), `SELECT n FROM nowhere`).Scan(&n); err == nil || errors.Is(err, idemsql.ErrNoRows) {
			t.Errorf("QueryRow of no table: %v", err)
		}
		rows, err := p.db.Query(t.Context(), `SELECT n FROM nowhere`)
		if err == nil { // PostgreSQL may tell later
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		} else if rows != nil {
			t.Error("rows and an error")
		}
		if err == nil {
			t.Error("Query of no table passed")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.db.Exec(ended, `DELETE FROM things`); !errors.Is(err, context.Canceled) {
			t.Errorf("in a context that has ended: %v", err)
		}
	})
}

// A context that is kept beyond its unit of work does not reach the pool: the
// write would be nobody's.
func TestAUnitOfWorkThatHasEnded(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(*testing.T) place) {
		p := open(t)
		var kept context.Context
		if err := unit(t, p.store, func(ctx context.Context) error {
			kept = context.WithoutCancel(ctx)
			_, err := p.db.Exec(ctx, `DELETE FROM things`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.db.Exec(kept, `INSERT INTO things (id, n, good, weight) VALUES ($1, 1, true, 1)`, "late"); err == nil {
			t.Error("a statement after the end of the unit of work passed")
		}
		if got := ids(t.Context(), t, p.db); len(got) != 0 {
			t.Errorf("%q are there", got)
		}
	})
}

// In the unit of work of another database a statement is refused, by all three
// methods: on its own it would be committed whatever became of the message.
func TestAnotherDatabaseIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(*testing.T) place) {
		here := open(t)
		for name, other := range map[string]func(*testing.T) idem.Store{
			"of the same kind": func(t *testing.T) idem.Store { return open(t).store },
			"sqlite":           func(t *testing.T) idem.Store { return onSQLite(t).store },
			"postgres":         func(t *testing.T) idem.Store { return onPostgres(t).store },
			"memory":           func(*testing.T) idem.Store { return memory.New(memory.Config{}) },
		} {
			t.Run("unit of work "+name, func(t *testing.T) {
				err := unit(t, other(t), func(ctx context.Context) error {
					_, execErr := here.db.Exec(ctx, `INSERT INTO things (id, n, good, weight) VALUES ('x', 1, true, 1)`)
					_, queryErr := here.db.Query(ctx, `SELECT 1`)
					var n int
					for _, err := range []error{execErr, queryErr, here.db.QueryRow(ctx, `SELECT 1`).Scan(&n)} {
						if err == nil || !strings.Contains(err.Error(), "another database") {
							t.Errorf("got %v", err)
						}
						if class := (idem.Classifier{}).Classify(err); class != idem.ClassBug {
							t.Errorf("class %q, want %q", class, idem.ClassBug)
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if got := ids(t.Context(), t, here.db); len(got) != 0 {
					t.Errorf("%q are there", got)
				}
			})
		}
	})
}
