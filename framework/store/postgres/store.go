// Package postgres keeps processed keys, the outbox and dead letters in
// PostgreSQL (13 or later), in the database of the business tables, so that
// they change in one transaction. It speaks pgx natively; a handler gets the
// pgx.Tx of its attempt from [TxFrom] and hands it to sqlc-generated code.
//
// An attempt that succeeds costs two round trips beside the handler's own: one
// pipeline for BEGIN and claim, one for outbox rows, mark and COMMIT. How keys
// are forgotten, with figures, is told in RETENTION.md beside this file.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/pgident"
)

// Store is an [idem.Store] on PostgreSQL. Safe for concurrent use.
type Store struct {
	cfg      Config
	pool     *pgxpool.Pool
	names    names
	sql      statements
	database string
	wake     chan struct{}
	sweptTo  atomic.Pointer[time.Time] // where Sweep goes on, nil: from the beginning
	log      *slog.Logger
	*ops
}

var _ idem.Store = (*Store)(nil)

// New connects to the database and returns a store on it. The tables must
// exist before use: see [Store.Migrate]. An invalid configuration is reported
// field by field, a database that cannot be reached is [idem.ErrStore].
func New(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	pool := cfg.Pool
	if pool == nil {
		var err error
		if pool, err = openPool(ctx, cfg); err != nil {
			return nil, err
		}
	}
	n := newNames(cfg.Schema, cfg.TablePrefix)
	s := &Store{
		cfg: cfg, pool: pool, names: n, sql: newStatements(n),
		wake: make(chan struct{}, 1), log: cfg.Logger.With("store", "postgres"),
	}
	var err error
	if s.ops, err = s.newOps(); err != nil {
		return nil, err
	}
	if err := s.identify(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func openPool(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, errors.New("postgres: DSN is not a PostgreSQL connection string")
	}
	if cfg.MaxConns > 0 {
		pc.MaxConns = int32(cfg.MaxConns)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, storeError("opening the pool", err)
	}
	return pool, nil
}

func (s *Store) identify(ctx context.Context) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if s.database, err = pgident.Database(ctx, conn); err != nil {
		return storeError("identifying the database", err)
	}
	return nil
}

// Do implements [idem.Store]. The transaction is READ COMMITTED and READ WRITE
// whatever the connection's default, since a claim that waited must see what
// the winner committed. A context that ends before COMMIT rolls back.
//
// Another Do inside fn is another transaction on another connection: it neither
// sees this one's writes nor shares its fate, and as many nested calls as the
// pool has connections wait for each other until AcquireWait is over.
func (s *Store) Do(ctx context.Context, fn func(idem.Tx) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	t := newTx(ctx, s, conn)
	defer t.end() // also when fn panics or calls runtime.Goexit
	if err := fn(t); err != nil {
		if t.broken != nil { // fn met a closed transaction: not its fault
			return errors.Join(storeError("BEGIN", t.broken), err)
		}
		if ended := t.endedByHandler(); ended != nil {
			return errors.Join(ended, err)
		}
		return err
	}
	return t.commit()
}

// acquire takes a connection, or says why there is none within AcquireWait.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, s.cfg.AcquireWait)
	defer cancel()
	conn, err := s.pool.Acquire(bounded)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() == nil && bounded.Err() != nil:
		st := s.pool.Stat()
		if st.AcquiredConns() < st.MaxConns() {
			return nil, storeError("connecting", fmt.Errorf("no answer within %v: %w", s.cfg.AcquireWait, err))
		}
		return nil, storeError("waiting for a connection", fmt.Errorf(
			"none became free within %v, %d of %d are in use: raise MaxConns, lower the concurrency, or do not nest transactions: %w",
			s.cfg.AcquireWait, st.AcquiredConns(), st.MaxConns(), err))
	default:
		return nil, storeError("connecting", err)
	}
}

// Database implements [idem.Store]: the server's
// start and the database's oid, the same over whatever address it is reached.
// It changes when the server restarts.
func (s *Store) Database() string { return s.database }

// Ping implements [idem.Store].
func (s *Store) Ping(ctx context.Context) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.Ping(ctx); err != nil {
		return storeError("ping", err)
	}
	return nil
}

// Close implements [idem.Store]: it closes the pool if New opened it, and waits
// for transactions that still run.
func (s *Store) Close() error {
	if s.cfg.Pool == nil {
		s.pool.Close()
	}
	return nil
}

// rollbackTimeout bounds a ROLLBACK, after which the connection is given up:
// the server then rolls back by itself.
const rollbackTimeout = 5 * time.Second
