package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
)

// tx is one unit of work on one connection. Statements whose result nobody
// waits for are kept in later and travel with the next one that is sent, BEGIN
// with the first and COMMIT with the last.
type tx struct {
	store  *Store
	ctx    context.Context // of Do, for what has no context of its own
	conn   *pgxpool.Conn
	native *native
	begun  bool
	broken error // of a BEGIN that could not be returned
	emits  bool
	later  pgx.Batch
	claims map[claimID]*claimed
}

// beginOptions are spelt out because a session's defaults may differ; see [Store.Do].
var beginOptions = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}

func newTx(ctx context.Context, s *Store, conn *pgxpool.Conn) *tx {
	return &tx{store: s, ctx: ctx, conn: conn, native: newNative(), claims: map[claimID]*claimed{}}
}

// send runs BEGIN if need be, everything kept for later, and what queue adds,
// in one round trip.
func (t *tx) send(ctx context.Context, queue func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	if !t.begun {
		b.BeginTx(beginOptions)
	}
	b.QueuedQueries = append(b.QueuedQueries, t.later.QueuedQueries...)
	t.later = pgx.Batch{}
	queue(b)
	if b.Len() == 0 {
		return nil
	}
	res := t.conn.SendBatch(ctx, b)
	err := res.Close()
	if !t.begun && t.conn.Conn().PgConn().TxStatus() != 'I' {
		t.begun = true
		t.native.Tx = res.Tx()
	}
	return err
}

// Native implements [idem.Tx]: a pgx.Tx whose Commit and Rollback fail, since
// they are the store's.
func (t *tx) Native() any {
	if !t.begun && t.broken == nil {
		// The signature has no room for an error: the handler's statements find
		// the transaction closed, and commit returns it.
		t.broken = t.send(t.ctx, func(*pgx.Batch) {})
	}
	return t.native
}

func (t *tx) commit() error {
	if err := t.ctx.Err(); err != nil {
		return storeError("the context ended before COMMIT", errors.Join(err, context.Cause(t.ctx)))
	}
	if t.broken != nil {
		return storeError("BEGIN", t.broken)
	}
	if err := t.endedByHandler(); err != nil {
		return err
	}
	t.settleClaims()
	if !t.begun && t.later.Len() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.store.cfg.CommitTimeout)
	defer cancel()
	var tag string
	err := t.send(ctx, func(b *pgx.Batch) {
		b.Queue("commit").Exec(func(ct pgconn.CommandTag) error { tag = ct.String(); return nil })
	})
	var unsent pgx.ErrPreprocessingBatch
	switch {
	case tag == "COMMIT": // durable, even if the connection broke right after
		if t.emits {
			select {
			case t.store.wake <- struct{}{}:
			default:
			}
		}
		return nil
	case tag == "ROLLBACK":
		return storeError("COMMIT", abortedError{})
	case serverRefused(err), errors.As(err, &unsent), pgconn.SafeToRetry(err):
		return storeError("COMMIT", err)
	default:
		t.store.log.WarnContext(ctx, "the outcome of a COMMIT is unknown", "error", err)
		return unknownCommit(err)
	}
}

// endedByHandler reports a transaction that statements of the handler ended
// behind our back: a COMMIT of ours would then succeed and commit nothing.
func (t *tx) endedByHandler() error {
	if !t.begun || t.conn.Conn().IsClosed() || t.conn.Conn().PgConn().TxStatus() != 'I' {
		return nil
	}
	t.store.log.Error("postgres: a handler ended its transaction by a COMMIT or ROLLBACK of its own")
	return idem.Bug(errNotYours)
}

// end rolls back what is still open and gives the connection back. A connection
// that cannot be brought back to a clean state is closed, not reused.
func (t *tx) end() {
	defer t.conn.Release()
	t.native.Tx = closedTx()
	conn := t.conn.Conn()
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' && !conn.PgConn().IsBusy() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		t.store.log.WarnContext(ctx, "ROLLBACK failed: closing the connection", "error", err)
		_ = conn.Close(ctx)
	}
}

// native is the transaction as handlers see it. Once Do has ended it is closed,
// so that a goroutine left over cannot write into somebody else's transaction.
type native struct{ pgx.Tx }

func newNative() *native { return &native{closedTx()} }

func closedTx() pgx.Tx {
	b := &pgx.Batch{}
	b.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(b, pgx.ErrTxClosed).Tx()
}

var errNotYours = errors.New("postgres: the transaction belongs to the store: return nil to commit it, an error to roll it back; for a part of it use tx.Begin (a savepoint)")

func (*native) Commit(context.Context) error { return errNotYours }

// Rollback is refused too, except that the common "defer tx.Rollback(ctx)" is
// harmless: its result is not looked at.
func (*native) Rollback(context.Context) error { return errNotYours }

var _ idem.Tx = (*tx)(nil)
