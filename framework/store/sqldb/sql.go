package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
)

// SQL returns db for handlers. It knows the units of work of every [Store] on
// db; those of another database are refused.
//
// On SQLite a write outside the unit of work, made by a handler that is in one,
// waits for that handler's own transaction until the database gives up: pass on
// the handler's context.
func SQL(db *sql.DB) idemsql.DB { return pool{db} }

type pool struct{ db *sql.DB }

// executor is what a pool and a transaction have in common.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// in returns what runs the statements of ctx.
func (p pool) in(ctx context.Context) (executor, error) {
	native := idem.NativeTx(ctx)
	if native == nil {
		return p.db, nil
	}
	store := idem.AttemptFrom(ctx).Consumer.Engine().Store
	if s, ok := store.(*Store); !ok || s.db != p.db {
		return nil, idem.Bug(fmt.Errorf("sqldb: statement of another database in the unit of work of a %T: "+
			"it would be committed whatever became of the message: use the database of the application's store, or an external handler", store))
	}
	tx, ok := native.(*sql.Tx)
	if !ok {
		return nil, idem.Bug(errors.New("sqldb: statement in a unit of work that has no *sql.Tx"))
	}
	return tx, nil
}

// Exec implements [idemsql.DB].
func (p pool) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	to, err := p.in(ctx)
	if err != nil {
		return 0, err
	}
	r, err := to.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// QueryRow implements [idemsql.DB].
func (p pool) QueryRow(ctx context.Context, query string, args ...any) idemsql.Row {
	from, err := p.in(ctx)
	if err != nil {
		return failed{err}
	}
	return from.QueryRowContext(ctx, query, args...)
}

// Query implements [idemsql.DB].
func (p pool) Query(ctx context.Context, query string, args ...any) (idemsql.Rows, error) {
	from, err := p.in(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := from.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller reads them
	if err != nil {
		return nil, err // not rows, which would be a nil pointer in an interface
	}
	return rows, nil
}

// failed is the row of a query that was not run.
type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }
