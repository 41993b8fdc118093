// Package pgstore makes the store in PostgreSQL from a configuration.
package pgstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/wire"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	store "github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/wiring"
)

// Set provides the pool, the pool as handlers see it, and the store.
var Set = wire.NewSet(OpenPool, NewSQL, NewStore, wire.Bind(new(idem.Store), new(*store.Store)))

// OpenPool connects to the database of the configuration.
func OpenPool(ctx context.Context, cfg idem.Config) (*pgxpool.Pool, func(), error) {
	if err := wiring.WantStore(cfg, "postgres"); err != nil {
		return nil, nil, err
	}
	pc, err := pgxpool.ParseConfig(string(cfg.Postgres.DSN))
	if err != nil {
		return nil, nil, fmt.Errorf("wiring: postgres.dsn: %w", err)
	}
	if cfg.Postgres.MaxConns > 0 {
		pc.MaxConns = int32(cfg.Postgres.MaxConns)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, nil, fmt.Errorf("wiring: postgres: %w", err)
	}
	return pool, func() { closePool(pool) }, nil
}

// closeWithin bounds the wait for connections that handlers still hold: one that
// never returns must not keep the process from ending.
const closeWithin = 5 * time.Second

func closePool(pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// NewSQL makes what handlers use.
func NewSQL(pool *pgxpool.Pool) idemsql.DB { return store.SQL(pool) }

// NewStore makes the store.
func NewStore(ctx context.Context, cfg idem.Config, pool *pgxpool.Pool, log *slog.Logger) (*store.Store, func(), error) {
	s, err := store.New(ctx, store.Config{
		Pool: pool, Schema: cfg.Postgres.Schema, TablePrefix: cfg.Postgres.TablePrefix,
		ClaimWait: cfg.Postgres.ClaimWait, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return s, wiring.CloseFunc("store", log, s.Close), nil
}
