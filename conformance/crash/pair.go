package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/wiring"
	kafkawiring "github.com/idem-go/idem/wiring/kafka"
	kafkasqlitewiring "github.com/idem-go/idem/wiring/kafkasqlite"
	pgwiring "github.com/idem-go/idem/wiring/postgres"
	sqlitewiring "github.com/idem-go/idem/wiring/sqlite"
)

// pair is an application on a transport and a store, with the ledger.
type pair struct {
	wiring.Parts
	ledger
	close func()
}

// ledger is the table that effects are counted in. It has no unique constraint:
// what happens twice shows.
type ledger struct {
	// add writes in the handler's transaction, note in one of its own.
	add, note func(ctx context.Context, run, kind, id string) error
	// count returns how many rows each id of a run has, by kind.
	count func(ctx context.Context, run string) (map[string]map[string]int, error)
	// drop removes the table.
	drop func(ctx context.Context) error
}

const (
	createLedger = `CREATE TABLE IF NOT EXISTS idem_crash_ledger (run TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL)`
	dropLedger   = `DROP TABLE IF EXISTS idem_crash_ledger`
	countLedger  = `SELECT kind, id, count(*) FROM idem_crash_ledger WHERE run = `
	addLedger    = `INSERT INTO idem_crash_ledger (run, kind, id) VALUES `
)

// assemble builds the application that the configuration describes.
func assemble(ctx context.Context, cfg idem.Config, o wiring.Options) (*pair, error) {
	switch cfg.Transport + " " + cfg.Store {
	case "sqlite sqlite":
		p, closeAll, err := sqlitewiring.Build(ctx, cfg, o)
		if err != nil {
			return nil, err
		}
		return ready(ctx, &pair{p.Parts, sqlLedger(p.DB), closeAll}, func() error { _, err := p.DB.ExecContext(ctx, createLedger); return err })
	case "kafka sqlite":
		p, closeAll, err := kafkasqlitewiring.Build(ctx, cfg, o)
		if err != nil {
			return nil, err
		}
		return ready(ctx, &pair{p.Parts, sqlLedger(p.DB), closeAll}, func() error { _, err := p.DB.ExecContext(ctx, createLedger); return err })
	case "postgres postgres":
		p, closeAll, err := pgwiring.Build(ctx, cfg, o)
		if err != nil {
			return nil, err
		}
		return ready(ctx, &pair{p.Parts, pgLedger(p.Pool), closeAll}, func() error { _, err := p.Pool.Exec(ctx, createLedger); return err })
	case "kafka postgres":
		p, closeAll, err := kafkawiring.Build(ctx, cfg, o)
		if err != nil {
			return nil, err
		}
		return ready(ctx, &pair{p.Parts, pgLedger(p.Pool), closeAll}, func() error { _, err := p.Pool.Exec(ctx, createLedger); return err })
	}
	return nil, fmt.Errorf("crash: nothing outlives a process on transport %q with store %q: choose sqlite, postgres or kafka with one of them", cfg.Transport, cfg.Store)
}

func ready(_ context.Context, p *pair, create func() error) (*pair, error) {
	if err := create(); err != nil && !errors.Is(err, context.Canceled) {
		p.close()
		return nil, fmt.Errorf("crash: ledger: %w", err)
	}
	return p, nil
}

func sqlLedger(db *sql.DB) ledger {
	const insert = addLedger + "(?, ?, ?)"
	return ledger{
		add: func(ctx context.Context, run, kind, id string) error {
			_, err := sqldb.TxFrom(ctx).ExecContext(ctx, insert, run, kind, id)
			return err
		},
		note: func(ctx context.Context, run, kind, id string) error {
			_, err := db.ExecContext(ctx, insert, run, kind, id)
			return err
		},
		count: func(ctx context.Context, run string) (map[string]map[string]int, error) {
			rows, err := db.QueryContext(ctx, countLedger+"? GROUP BY kind, id", run) //nolint:rowserrcheck // tally asks for it
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return tally(rows)
		},
		drop: func(ctx context.Context) error { _, err := db.ExecContext(ctx, dropLedger); return err },
	}
}

func pgLedger(pool *pgxpool.Pool) ledger {
	const insert = addLedger + "($1, $2, $3)"
	return ledger{
		add: func(ctx context.Context, run, kind, id string) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, insert, run, kind, id)
			return err
		},
		note: func(ctx context.Context, run, kind, id string) error {
			_, err := pool.Exec(ctx, insert, run, kind, id)
			return err
		},
		count: func(ctx context.Context, run string) (map[string]map[string]int, error) {
			rows, err := pool.Query(ctx, countLedger+"$1 GROUP BY kind, id", run)
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return tally(rows)
		},
		drop: func(ctx context.Context) error { _, err := pool.Exec(ctx, dropLedger); return err },
	}
}

func tally(rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	for rows.Next() {
		var kind, id string
		var n int
		if err := rows.Scan(&kind, &id, &n); err != nil {
			return nil, err
		}
		if out[kind] == nil {
			out[kind] = map[string]int{}
		}
		out[kind][id] = n
	}
	return out, rows.Err()
}
