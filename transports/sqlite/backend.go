package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/sqlitedb"
	"github.com/idem-go/idem/transports/internal/queue"
)

// backend is a [queue.Backend]. Whatever only looks, looks without a
// transaction, so that waiting subscribers keep nobody from writing.
type backend struct {
	db       *sql.DB
	database string
	sql      func(string) string
	stmts    map[string]*sql.Stmt // by the text of the constant
	wakes    queue.Wakes
}

var _ queue.Backend = (*backend)(nil)

func newBackend(ctx context.Context, db *sql.DB, prefix string) (*backend, error) {
	database, err := sqlitedb.Identity(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	b := &backend{db: db, database: database, sql: names(prefix)}
	if err := migrate(ctx, db, b.sql); err != nil {
		return nil, fmt.Errorf("sqlite: migrate the queue's tables with prefix %q: %w", prefix, err)
	}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: prepare the queue's statements: %w", err), b.Close())
	}
	return b, nil
}

// prepare compiles the statements once for each connection, which saves about
// half of the time that a claim takes.
func (b *backend) prepare(ctx context.Context) error {
	b.stmts = make(map[string]*sql.Stmt)
	for _, query := range statements {
		stmt, err := b.db.PrepareContext(ctx, b.sql(query))
		if err != nil {
			return err
		}
		b.stmts[query] = stmt
	}
	return nil
}

func (b *backend) Publish(ctx context.Context, topic string, msgs []queue.Message) error {
	err := inTx(ctx, b.db, func(tx *sql.Tx) error {
		return insert(ctx, tx.StmtContext(ctx, b.stmts[insertMessage]), topic, msgs)
	})
	if err == nil {
		b.wakes.Send(topic)
	}
	return err
}

// publishTx publishes in a transaction that may be of another pool.
func (b *backend) publishTx(ctx context.Context, tx *sql.Tx, topic string, msgs []queue.Message) error {
	stmt, err := tx.PrepareContext(ctx, b.sql(insertMessage))
	if err != nil {
		return err
	}
	defer stmt.Close()
	return insert(ctx, stmt, topic, msgs)
}

func insert(ctx context.Context, stmt *sql.Stmt, topic string, msgs []queue.Message) error {
	return each(ctx, stmt, msgs, func(m queue.Message) []any {
		return []any{topic, m.UUID, m.Key, encodeHeaders(m.Headers), m.Payload}
	}, nil)
}

// each executes a statement with the arguments of each item and reports how
// many rows each time changed.
func each[T any](ctx context.Context, stmt *sql.Stmt, items []T, args func(T) []any, done func(item T, rows int64)) error {
	for _, item := range items {
		r, err := stmt.ExecContext(ctx, args(item)...)
		if err != nil {
			return err
		}
		if done == nil {
			continue
		}
		n, err := r.RowsAffected()
		if err != nil {
			return err
		}
		done(item, n)
	}
	return nil
}

func (b *backend) Register(ctx context.Context, topic, group string) error {
	var known bool
	err := b.stmts[groupExists].QueryRowContext(ctx, topic, group).Scan(&known)
	if err != nil || known {
		return err
	}
	return inTx(ctx, b.db, func(tx *sql.Tx) error {
		r, err := tx.StmtContext(ctx, b.stmts[insertGroup]).ExecContext(ctx, topic, group)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = tx.StmtContext(ctx, b.stmts[fillGroup]).ExecContext(ctx, topic, group)
		return err
	})
}

func (b *backend) Ack(ctx context.Context, leases ...queue.Lease) error {
	if len(leases) == 0 {
		return nil
	}
	return inTx(ctx, b.db, func(tx *sql.Tx) error {
		return each(ctx, tx.StmtContext(ctx, b.stmts[acknowledge]), leases, leaseArgs, nil)
	})
}

func leaseArgs(l queue.Lease) []any { return []any{l.ID, l.Token} }

func (b *backend) AckTx(ctx context.Context, native any, leases ...queue.Lease) error {
	tx, ok := native.(*sql.Tx)
	if !ok {
		return fmt.Errorf("sqlite: acknowledge in a transaction: got a %T, need the *sql.Tx of a store in the same database", native)
	}
	lost := false
	for _, l := range leases {
		r, err := tx.ExecContext(ctx, b.sql(acknowledge), leaseArgs(l)...)
		if err != nil {
			return fmt.Errorf("sqlite: acknowledge in a transaction: %w", err)
		}
		n, err := r.RowsAffected()
		if err != nil {
			return fmt.Errorf("sqlite: acknowledge in a transaction: %w", err)
		}
		lost = lost || n == 0
	}
	if lost {
		return fmt.Errorf("sqlite: acknowledge in a transaction: %w", idem.ErrLeaseLost)
	}
	return nil
}

func (b *backend) Release(ctx context.Context, releases ...queue.Release) error {
	if len(releases) == 0 {
		return nil
	}
	return inTx(ctx, b.db, func(tx *sql.Tx) error {
		return each(ctx, tx.StmtContext(ctx, b.stmts[release]), releases,
			func(r queue.Release) []any {
				return []any{millis(r.After), !r.Counted, r.ID, r.Token}
			}, nil)
	})
}

func (b *backend) Extend(ctx context.Context, d time.Duration, leases ...queue.Lease) (lost []queue.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	err = inTx(ctx, b.db, func(tx *sql.Tx) error {
		return each(ctx, tx.StmtContext(ctx, b.stmts[extend]), leases,
			func(l queue.Lease) []any { return []any{millis(d), l.ID, l.Token} },
			func(l queue.Lease, rows int64) {
				if rows == 0 {
					lost = append(lost, l)
				}
			})
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// millis rounds up and adds what the database's clock rounds away, so that
// nothing ends early; what is over stays over.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d+time.Millisecond-1)/time.Millisecond) + 1
}

func (b *backend) Wake(topic string) (<-chan struct{}, func()) { return b.wakes.Add(topic) }

func (b *backend) Clean(ctx context.Context, retention time.Duration, limit int) (int, error) {
	ids, err := column[int64](ctx, b.stmts[selectOld], retention.Milliseconds(), limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	removed := 0
	err = inTx(ctx, b.db, func(tx *sql.Tx) error {
		// A group may have been registered since.
		return each(ctx, tx.StmtContext(ctx, b.stmts[deleteOld]), ids,
			func(id int64) []any { return []any{id} },
			func(_ int64, rows int64) { removed += int(rows) })
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

func column[T any](ctx context.Context, stmt *sql.Stmt, args ...any) (out []T, err error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var x T
		if err := rows.Scan(&x); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

func (b *backend) Depth(ctx context.Context, topic, group string) (int, time.Duration, error) {
	var n, oldest int64
	err := b.stmts[depth].QueryRowContext(ctx, topic, group).Scan(&n, &oldest)
	if err != nil {
		return 0, 0, err
	}
	return int(n), time.Duration(max(oldest, 0)) * time.Millisecond, nil
}

func (b *backend) Database() string { return b.database }

func (b *backend) Ping(ctx context.Context) error {
	var one int
	return b.stmts[ping].QueryRowContext(ctx).Scan(&one)
}

// Close leaves the database open.
func (b *backend) Close() error {
	var errs []error
	for _, stmt := range b.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}
