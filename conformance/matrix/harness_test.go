package matrix

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/internal/testenv"
	memorytransport "github.com/idem-go/idem/transports/memory"
	"github.com/idem-go/idem/wiring"
	kafkawiring "github.com/idem-go/idem/wiring/kafka"
	kafkasqlitewiring "github.com/idem-go/idem/wiring/kafkasqlite"
	pgwiring "github.com/idem-go/idem/wiring/postgres"
	sqlitewiring "github.com/idem-go/idem/wiring/sqlite"
)

// quiet are the options of every wiring here.
var quiet = wiring.Options{Logger: slog.New(slog.DiscardHandler)}

// claimWait is how long a message waits for its key: the cases want to see that
// it goes back.
const claimWait = 200 * time.Millisecond

// backlog of the slow consumer: the kit's own in the long run (make certify), for
// the race detector takes minutes to publish that many.
func backlog() int {
	if os.Getenv("IDEM_CERTIFY_KILLS") != "" {
		return 0
	}
	return 10_000
}

func memoryHarness() conformance.Harness {
	return conformance.Harness{Name: "memory", Backlog: backlog(), New: func(t testing.TB) conformance.Place {
		tr, err := memorytransport.New(memorytransport.Config{Logger: quiet.Logger})
		must(t, err)
		t.Cleanup(func() { must(t, tr.Close()) })
		var faults storeFaults
		store := memory.New(memory.Config{ClaimWait: claimWait, Fault: faults.at})
		return conformance.Place{
			Open: func(testing.TB) conformance.Process {
				return conformance.Process{Transport: tr, Store: store, Effects: conformance.MemoryEffects(store)}
			},
			Faults: conformance.Faults{BreakCommit: faults.breakCommit, Outage: faults.outage},
		}
	}}
}

// storeFaults are those of a store in memory.
type storeFaults struct {
	mu   sync.Mutex
	next memory.Point
	down bool
}

var errBroken = errors.New("connection reset")

func (f *storeFaults) at(p memory.Point) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down && (p == memory.AtBegin || p == memory.AtCall || p == memory.BeforeCommit) {
		return errBroken
	}
	if p != f.next {
		return nil
	}
	f.next = ""
	return errBroken
}

func (f *storeFaults) breakCommit(_ testing.TB, applied bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next = memory.LostCommit; applied {
		f.next = memory.LostReply
	}
}

func (f *storeFaults) outage(testing.TB) (restore func()) {
	set := func(down bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.down = down
	}
	set(true)
	return func() { set(false) }
}

func sqliteHarness() conformance.Harness {
	return conformance.Harness{Name: "sqlite", Parallel: 4, Backlog: backlog(), New: func(t testing.TB) conformance.Place {
		f := newSQLiteFile(t)
		cfg := idem.Config{Transport: "sqlite", Store: "sqlite"}
		cfg.SQLite.Path = f.path
		return conformance.Place{
			Open: func(t testing.TB) conformance.Process {
				p, closeAll, err := sqlitewiring.Build(t.Context(), cfg, quiet)
				must(t, err)
				return conformance.Process{Transport: p.Transport, Store: p.Store, Effects: sqliteEffects(p.DB), Close: closeAll}
			},
			Faults: conformance.Faults{
				Outage: f.outage,
				ExpireLeases: func(t testing.TB) {
					f.exec(t, `UPDATE idem_queue_deliveries SET due_at = 0, token = NULL WHERE state = 2`)
				},
			},
			Strangers: f.strangers,
		}
	}}
}

func postgresHarness() conformance.Harness {
	return conformance.Harness{Name: "postgres", Backlog: backlog(), New: func(t testing.TB) conformance.Place {
		db := newPGDatabase(t)
		cfg := idem.Config{Transport: "postgres", Store: "postgres"}
		cfg.Postgres.MaxConns, cfg.Postgres.ClaimWait, cfg.Postgres.DSN = 16, claimWait, db.dsn
		return conformance.Place{
			Open: func(t testing.TB) conformance.Process {
				p, closeAll, err := pgwiring.Build(t.Context(), cfg, quiet)
				must(t, err)
				return conformance.Process{Transport: p.Transport, Store: p.Store, Effects: pgEffects(p.Pool), Close: closeAll}
			},
			Faults: conformance.Faults{
				DropConnections: db.killSessions,
				ExpireLeases: func(t testing.TB) {
					db.exec(t, `UPDATE idem_queue_deliveries SET visible_at = now(), token = NULL WHERE token IS NOT NULL`)
				},
			},
			Strangers: db.strangers,
		}
	}}
}

// kafkaHarness has its store in PostgreSQL.
func kafkaHarness() conformance.Harness {
	return conformance.Harness{Name: "kafka+postgres", Parallel: 8, Backlog: backlog(), New: func(t testing.TB) conformance.Place {
		db := newPGDatabase(t)
		k := kafkaCluster{realKafka(t)}
		cfg := idem.Config{Transport: "kafka", Store: "postgres"}
		cfg.Kafka.Brokers, cfg.Postgres.DSN, cfg.Postgres.MaxConns, cfg.Postgres.ClaimWait = k.brokers, db.dsn, 16, claimWait
		return conformance.Place{
			Open: func(t testing.TB) conformance.Process {
				p, closeAll, err := kafkawiring.Build(t.Context(), cfg, quiet)
				must(t, err)
				return k.process(t, conformance.Process{Store: p.Store, Effects: pgEffects(p.Pool), Close: closeAll})
			},
			Faults:    conformance.Faults{DropConnections: db.killSessions, Rewind: k.rewind},
			Strangers: k.strangers,
		}
	}}
}

func kafkaSQLiteHarness() conformance.Harness {
	return conformance.Harness{Name: "kafka+sqlite", Parallel: 6, Backlog: backlog(), New: func(t testing.TB) conformance.Place {
		f := newSQLiteFile(t)
		k := kafkaCluster{realKafka(t)}
		cfg := idem.Config{Transport: "kafka", Store: "sqlite"}
		cfg.Kafka.Brokers, cfg.SQLite.Path = k.brokers, f.path
		return conformance.Place{
			Open: func(t testing.TB) conformance.Process {
				p, closeAll, err := kafkasqlitewiring.Build(t.Context(), cfg, quiet)
				must(t, err)
				return k.process(t, conformance.Process{Store: p.Store, Effects: sqliteEffects(p.DB), Close: closeAll})
			},
			Faults:    conformance.Faults{Outage: f.outage, Rewind: k.rewind},
			Strangers: k.strangers,
		}
	}}
}

// kafkaFakeHarness has the kit's store.
func kafkaFakeHarness() conformance.Harness {
	return conformance.Harness{Name: "kfake+memory", Parallel: 16, Backlog: backlog(), New: func(t testing.TB) conformance.Place {
		k := kafkaCluster{fakeKafka(t)}
		return conformance.Place{
			Open:      func(t testing.TB) conformance.Process { return k.process(t, conformance.Process{Close: func() {}}) },
			Faults:    conformance.Faults{Rewind: k.rewind},
			Strangers: k.strangers,
		}
	}}
}

const createEffectsTable = "CREATE TABLE effects (id TEXT NOT NULL)"

func sqliteEffects(db *sql.DB) conformance.Effects {
	insert := func(ctx context.Context, id any) error {
		_, err := sqldb.TxFrom(ctx).ExecContext(ctx, "INSERT INTO effects VALUES (?)", id)
		return err
	}
	return conformance.Effects{
		SingleWriter: true,
		Add:          func(ctx context.Context, id string) error { return insert(ctx, id) },
		Refuse:       func(ctx context.Context) error { return insert(ctx, nil) },
		Count: func(ctx context.Context) (map[string]int, error) {
			rows, err := db.QueryContext(ctx, "SELECT id, count(*) FROM effects GROUP BY id") //nolint:rowserrcheck // counts asks for it
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return counts(rows)
		},
	}
}

func pgEffects(pool *pgxpool.Pool) conformance.Effects {
	insert := func(ctx context.Context, id any) error {
		_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", id)
		return err
	}
	return conformance.Effects{
		RefusalAborts: true,
		Add:           func(ctx context.Context, id string) error { return insert(ctx, id) },
		Refuse:        func(ctx context.Context) error { return insert(ctx, nil) },
		Count: func(ctx context.Context) (map[string]int, error) {
			rows, err := pool.Query(ctx, "SELECT id, count(*) FROM effects GROUP BY id")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return counts(rows)
		},
	}
}

// sqliteFile is a database file as somebody else has it open.
type sqliteFile struct {
	path string
	db   *sql.DB
}

func newSQLiteFile(t testing.TB) sqliteFile {
	f := sqliteFile{path: filepath.Join(t.TempDir(), "idem.db")}
	f.db = openSQLite(t, f.path)
	f.exec(t, createEffectsTable)
	return f
}

func (f sqliteFile) exec(t testing.TB, stmt string) {
	t.Helper()
	_, err := f.db.ExecContext(t.Context(), stmt)
	must(t, err)
}

// outage: somebody else has the file locked.
func (f sqliteFile) outage(t testing.TB) (restore func()) {
	t.Helper()
	tx, err := f.db.BeginTx(t.Context(), nil)
	must(t, err)
	return func() { must(t, tx.Rollback()) }
}

// pgDatabase is a database as its administrator sees it.
type pgDatabase struct {
	dsn   idem.DSN
	admin *pgxpool.Pool
}

func newPGDatabase(t testing.TB) pgDatabase {
	t.Helper()
	db := pgDatabase{dsn: idem.DSN(testenv.Postgres(t))}
	var err error
	db.admin, err = pgxpool.New(t.Context(), string(db.dsn)+"&application_name=admin&pool_max_conns=2")
	must(t, err)
	t.Cleanup(db.admin.Close)
	db.exec(t, createEffectsTable)
	return db
}

func (db pgDatabase) exec(t testing.TB, stmt string) {
	t.Helper()
	_, err := db.admin.Exec(t.Context(), stmt)
	must(t, err)
}

func (db pgDatabase) killSessions(t testing.TB) {
	t.Helper()
	db.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name <> 'admin'`)
}
