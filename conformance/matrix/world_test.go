package matrix

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/wiring"
	kafkawiring "github.com/idem-go/idem/wiring/kafka"
	kafkasqlitewiring "github.com/idem-go/idem/wiring/kafkasqlite"
	memorywiring "github.com/idem-go/idem/wiring/memory"
	pgwiring "github.com/idem-go/idem/wiring/postgres"
	sqlitewiring "github.com/idem-go/idem/wiring/sqlite"
)

// event is the payload of the scenarios.
type event struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

// world is one isolated broker and database, on which any number of
// applications run as so many processes would.
type world struct {
	cfg   idem.Config
	topic string
	build func(context.Context, idem.Config, wiring.Options) (parts, func(), error)
}

// parts are an assembled application with access to the business table, which
// is what effects are counted in. It has no unique constraint: a doubled effect
// shows.
type parts struct {
	wiring.Parts
	effect  func(ctx context.Context, id string) error
	effects func(ctx context.Context) (map[string]int, error)
	// exec runs a statement in the handler's transaction; nil without SQL.
	exec func(ctx context.Context, stmt string) error
}

// worlds are the pairs of transport and store under test.
var worlds = map[string]func(t *testing.T) *world{
	"memory":       memoryWorld,
	"sqlite":       sqliteWorld,
	"postgres":     postgresWorld,
	"kafka":        kafkaWorld,
	"kafka-sqlite": kafkaSQLiteWorld,
}

// The worlds that have something in common.
var (
	withSQL      = []string{"sqlite", "postgres", "kafka", "kafka-sqlite"}
	withPostgres = []string{"postgres", "kafka"}
)

// on runs a scenario on the named worlds, side by side: they mostly wait.
func on(t *testing.T, names []string, scenario func(t *testing.T, w *world)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(t, worlds[name](t))
		})
	}
}

func memoryWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: idem.Config{Transport: "memory", Store: "memory"}}
	var shared *memorywiring.Parts
	w.build = func(_ context.Context, cfg idem.Config, o wiring.Options) (parts, func(), error) {
		if shared == nil {
			p, closeAll, err := memorywiring.Build(cfg, o)
			if err != nil {
				return parts{}, nil, err
			}
			t.Cleanup(closeAll)
			shared = p
		}
		p, err := shared.Again(cfg, o)
		return parts{
			Parts:  p,
			effect: func(ctx context.Context, id string) error { memory.TxFrom(ctx).Add("effect:"+id, 1); return nil },
			effects: func(context.Context) (map[string]int, error) {
				out := map[string]int{}
				for _, id := range ids(1000) { // those that a scenario may have used
					if n := shared.Tables.Sum("effect:" + id); n > 0 {
						out[id] = int(n)
					}
				}
				return out, nil
			}}, func() {}, err
	}
	return w
}

func sqliteWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: idem.Config{Transport: "sqlite", Store: "sqlite"}, build: assemble}
	w.cfg.SQLite.Path = filepath.Join(t.TempDir(), "idem.db")
	return w
}

func postgresWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: idem.Config{Transport: "postgres", Store: "postgres"}, build: assemble}
	w.cfg.Postgres.DSN = idem.DSN(testenv.Postgres(t))
	w.cfg.Postgres.MaxConns = 16
	return w
}

func kafkaWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: kafkaConfig(t, "postgres"), build: assemble}
	w.cfg.Postgres.DSN = idem.DSN(testenv.Postgres(t))
	w.cfg.Postgres.MaxConns = 16
	return w
}

func kafkaSQLiteWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: kafkaConfig(t, "sqlite"), build: assemble}
	w.cfg.SQLite.Path = filepath.Join(t.TempDir(), "idem.db")
	return w
}

func kafkaConfig(t *testing.T, store string) idem.Config {
	cfg := idem.Config{Transport: "kafka", Store: store}
	cfg.Kafka.Brokers, _ = testenv.Kafka(t)
	cfg.Kafka.CreateTopics, cfg.Kafka.Partitions, cfg.Kafka.ReplicationFactor = true, 4, 1
	cfg.Kafka.SessionTimeout = 2 * time.Second
	return cfg
}

// admin connects to the world's PostgreSQL as somebody else would.
func (w *world) admin(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), string(w.cfg.Postgres.DSN))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

const createEffects = "CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)"

// assemble builds an application on real servers and files, in this process or
// in a child.
func assemble(ctx context.Context, cfg idem.Config, o wiring.Options) (parts, func(), error) {
	switch cfg.Transport + " " + cfg.Store {
	case "sqlite sqlite":
		p, closeAll, err := sqlitewiring.Build(ctx, cfg, o)
		if err != nil {
			return parts{}, nil, err
		}
		return sqlParts(ctx, p.Parts, p.DB, closeAll)
	case "kafka sqlite":
		p, closeAll, err := kafkasqlitewiring.Build(ctx, cfg, o)
		if err != nil {
			return parts{}, nil, err
		}
		return sqlParts(ctx, p.Parts, p.DB, closeAll)
	case "postgres postgres":
		p, closeAll, err := pgwiring.Build(ctx, cfg, o)
		if err != nil {
			return parts{}, nil, err
		}
		return pgParts(ctx, p.Parts, p.Pool, closeAll)
	case "kafka postgres":
		p, closeAll, err := kafkawiring.Build(ctx, cfg, o)
		if err != nil {
			return parts{}, nil, err
		}
		return pgParts(ctx, p.Parts, p.Pool, closeAll)
	}
	return parts{}, nil, fmt.Errorf("no wiring for %s and %s", cfg.Transport, cfg.Store)
}

func sqlParts(ctx context.Context, p wiring.Parts, db *sql.DB, closeAll func()) (parts, func(), error) {
	_, err := db.ExecContext(ctx, createEffects)
	return parts{
		Parts: p,
		effect: func(ctx context.Context, id string) error {
			_, err := sqldb.TxFrom(ctx).ExecContext(ctx, "INSERT INTO effects VALUES (?)", id)
			return err
		},
		effects: func(ctx context.Context) (map[string]int, error) {
			rows, err := db.QueryContext(ctx, "SELECT id, count(*) FROM effects GROUP BY id") //nolint:rowserrcheck // counts asks for it
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return counts(rows)
		},
		exec: func(ctx context.Context, stmt string) error {
			_, err := sqldb.TxFrom(ctx).ExecContext(ctx, stmt)
			return err
		}}, closeAll, err
}

func pgParts(ctx context.Context, p wiring.Parts, pool *pgxpool.Pool, closeAll func()) (parts, func(), error) {
	_, err := pool.Exec(ctx, createEffects)
	return parts{
		Parts: p,
		effect: func(ctx context.Context, id string) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", id)
			return err
		},
		effects: func(ctx context.Context) (map[string]int, error) {
			rows, err := pool.Query(ctx, "SELECT id, count(*) FROM effects GROUP BY id")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return counts(rows)
		},
		exec: func(ctx context.Context, stmt string) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, stmt)
			return err
		}}, closeAll, err
}

func counts(rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}) (map[string]int, error) {
	out := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, rows.Err()
}
