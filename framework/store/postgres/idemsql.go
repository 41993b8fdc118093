package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
)

// SQL returns the pool for handlers. It knows the units of work of every
// [Store] that was given this pool; those of another database are refused.
func SQL(pool *pgxpool.Pool) idemsql.DB { return handlers{pool} }

type handlers struct{ pool *pgxpool.Pool }

// executor is what a pool and a transaction have in common.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// in returns what runs the statements of ctx.
func (h handlers) in(ctx context.Context) (executor, error) {
	native := idem.NativeTx(ctx)
	if native == nil {
		return h.pool, nil
	}
	store := idem.AttemptFrom(ctx).Consumer.Engine().Store
	if s, ok := store.(*Store); !ok || s.pool != h.pool {
		return nil, idem.Bug(fmt.Errorf("postgres: statement of another database in the unit of work of a %T: "+
			"it would be committed whatever became of the message: use the pool of the application's store, or an external handler", store))
	}
	tx, ok := native.(pgx.Tx)
	if !ok {
		return nil, idem.Bug(errors.New("postgres: statement in a unit of work that has no pgx.Tx"))
	}
	return tx, nil
}

// Exec implements [idemsql.DB].
func (h handlers) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	to, err := h.in(ctx)
	if err != nil {
		return 0, err
	}
	tag, err := to.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// QueryRow implements [idemsql.DB].
func (h handlers) QueryRow(ctx context.Context, query string, args ...any) idemsql.Row {
	from, err := h.in(ctx)
	if err != nil {
		return row{err: err}
	}
	return row{Row: from.QueryRow(ctx, query, args...)}
}

// Query implements [idemsql.DB].
func (h handlers) Query(ctx context.Context, query string, args ...any) (idemsql.Rows, error) {
	from, err := h.in(ctx)
	if err != nil {
		return nil, err
	}
	r, err := from.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows{r}, nil
}

// row speaks of missing rows as package idemsql does.
type row struct {
	pgx.Row
	err error // of a query that was not run
}

// Scan implements [idemsql.Row].
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	err := r.Row.Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return idemsql.ErrNoRows
	}
	return err
}

type rows struct{ pgx.Rows }

// Close implements [idemsql.Rows].
func (r rows) Close() error {
	r.Rows.Close()
	return nil // what went wrong with the rows, Err has told
}
