package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Store is an [idem.Store] over a *sql.DB. Safe for concurrent use.
type Store struct {
	db      *sql.DB
	cfg     Config
	dialect Dialect
	sql     statements
	names   *strings.Replacer
	log     *slog.Logger
	wake    chan struct{}
	open    sync.Map // *sql.Tx of the units of work under way
	commit  func(*sql.Tx) error
	*ops
}

var _ idem.Store = (*Store)(nil)

// New returns a store; it does not touch the database. Call Migrate before use.
func New(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	st, names := cfg.Dialect.resolve(cfg.TablePrefix)
	s := &Store{
		db: cfg.DB, cfg: cfg, dialect: cfg.Dialect, sql: st, names: names, log: cfg.Logger,
		wake: make(chan struct{}, 1), commit: (*sql.Tx).Commit,
	}
	var err error
	s.ops, err = s.newOps()
	return s, err
}

// Do implements [idem.Store]. On SQLite it holds the one writer until fn
// returns; called within a handler of the same store it would wait for itself,
// and returns an error instead.
func (s *Store) Do(ctx context.Context, fn func(idem.Tx) error) error {
	emitted := false
	err := s.transact(ctx, "transaction", func(tx *sql.Tx) error {
		s.open.Store(tx, nil)
		defer s.open.Delete(tx)
		u := &unit{s: s, tx: tx}
		err := fn(u)
		emitted = u.emitted
		return err
	})
	if err == nil && emitted {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return err
}

// transact runs fn in a transaction. The transaction does not follow ctx:
// database/sql would roll it back behind our back, also during COMMIT.
func (s *Store) transact(ctx context.Context, what string, fn func(*sql.Tx) error) error {
	if err := s.refuseNested(ctx, what); err != nil {
		return err
	}
	txctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) }) // while waiting to begin it does
	tx, err := s.begin(txctx)
	cancelled := !stop()
	if err != nil {
		return s.failure(ctx, "begin "+what, err)
	}
	finished := false
	defer func() {
		if !finished { // fn failed or panicked
			if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
				s.log.WarnContext(ctx, "roll back failed", "error", err)
			}
		}
	}()
	if cancelled {
		return s.failure(ctx, "begin "+what, context.Cause(ctx))
	}
	if err := fn(tx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return s.failure(ctx, what+" rolled back", context.Cause(ctx))
	}
	if err := s.alive(ctx, tx); err != nil {
		return err
	}
	finished = true
	err = s.commit(tx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone) || s.dialect.refused(err):
		return s.failure(ctx, "commit "+what, err)
	default:
		return s.failure(ctx, "commit "+what, fmt.Errorf("%w: %w", idem.ErrUnknownCommit, err))
	}
}

func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, text := range s.dialect.begin(s.cfg.ClaimWait) {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return nil, errors.Join(err, tx.Rollback())
		}
	}
	return tx, nil
}

// failure gives an error of the database its place and its meaning.
func (s *Store) failure(ctx context.Context, what string, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(err, sql.ErrTxDone):
		return idem.Bug(fmt.Errorf("sqldb: %s: %w: the handler called Commit or Rollback, or kept the transaction; leave both to idem", what, err))
	case cause != nil && !errors.Is(err, cause): // a driver may say no more than "interrupted"
		return fmt.Errorf("sqldb: %s: %w: %w (%w)", what, idem.ErrStore, err, cause)
	default:
		return fmt.Errorf("sqldb: %s: %w: %w", what, idem.ErrStore, err)
	}
}

// alive returns an error when the database has dissolved the transaction.
func (s *Store) alive(ctx context.Context, tx *sql.Tx) error {
	if s.dialect.alive == nil || s.dialect.alive(ctx, tx) {
		return nil
	}
	return idem.Bug(errors.New("sqldb: a statement of the handler was interrupted or ran out of space, and the database rolled the transaction back: " +
		"the handler must return the error of such a statement at once"))
}

// refuseNested returns an error where a transaction would wait for the one
// that its own handler holds.
func (s *Store) refuseNested(ctx context.Context, what string) error {
	if !s.dialect.singleWriter {
		return nil
	}
	tx, ok := idem.NativeTx(ctx).(*sql.Tx)
	if !ok {
		return nil
	}
	if _, mine := s.open.Load(tx); !mine {
		return nil
	}
	return idem.Bug(fmt.Errorf("sqldb: %s inside a handler of the same store: it would wait for the handler's own transaction; use sqldb.TxFrom(ctx)", what))
}

// refuseRead is refuseNested for a read, which waits only for the connection.
func (s *Store) refuseRead(ctx context.Context, what string) error {
	if s.db.Stats().MaxOpenConnections != 1 {
		return nil
	}
	return s.refuseNested(ctx, what)
}

// Database implements [idem.Store].
func (s *Store) Database() string { return s.cfg.Identity }

// Ping implements [idem.Store].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.refuseRead(ctx, "ping"); err != nil {
		return err
	}
	if err := s.db.PingContext(ctx); err != nil {
		return s.failure(ctx, "ping", err)
	}
	return nil
}

// Close implements [idem.Store]. The *sql.DB stays open: it is the caller's.
func (s *Store) Close() error { return nil }

// sweepBatch bounds one deleting transaction, so that it holds the writer for
// milliseconds.
const sweepBatch = 100

// Sweep implements [idem.Store]. It deletes in small transactions, oldest first.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	total := 0
	for _, text := range []string{s.sql.sweepInbox, s.sql.sweepOutbox} {
		for total < limit {
			batch := min(sweepBatch, limit-total)
			n, err := s.sweep(ctx, text, batch)
			total += n
			if err != nil {
				return total, err
			}
			if n < batch {
				break
			}
		}
	}
	return total, nil
}

func (s *Store) sweep(ctx context.Context, text string, batch int) (removed int, err error) {
	args := []any{batch}
	if text == s.sql.sweepOutbox {
		args = append(args, micros(s.cfg.OutboxRetention))
	}
	err = s.transact(ctx, "sweep", func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, text, args...)
		if err != nil {
			return s.failure(ctx, "sweep", err)
		}
		n, err := r.RowsAffected()
		removed = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

func micros(d time.Duration) int64 { return d.Microseconds() }
