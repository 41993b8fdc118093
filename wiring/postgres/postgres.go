// Package postgres wires the PostgreSQL queue with the store in the same
// database, so that acknowledgements ride in the handler's transaction.
package postgres

import (
	"context"
	"log/slog"

	"github.com/google/wire"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	transport "github.com/idem-go/idem/transports/postgres"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/internal/pgstore"
)

// Parts are the assembled application and the pool that its handlers share.
type Parts struct {
	wiring.Parts
	Pool *pgxpool.Pool
	// SQL is the same database for handlers: it takes part in their unit of work.
	SQL idemsql.DB
}

// Set provides Parts for a context, an idem.Config and wiring.Options.
var Set = wire.NewSet(wiring.Set, pgstore.Set, NewTransport, wire.Struct(new(Parts), "*"),
	wire.Bind(new(idem.Transport), new(*transport.Transport)))

// NewTransport makes the queue.
func NewTransport(ctx context.Context, cfg idem.Config, pool *pgxpool.Pool, log *slog.Logger) (*transport.Transport, func(), error) {
	if err := wiring.WantTransport(cfg, "postgres"); err != nil {
		return nil, nil, err
	}
	t, err := transport.New(ctx, transport.Config{
		Pool: pool, Schema: cfg.Postgres.Schema, TablePrefix: cfg.Postgres.TablePrefix, MaxConns: cfg.Postgres.QueueMaxConns,
		Lease: cfg.Queue.Lease, PollInterval: cfg.Queue.PollInterval, Retention: cfg.Queue.Retention, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return t, wiring.CloseFunc("transport", log, t.Close), nil
}
