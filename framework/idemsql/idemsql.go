// Package idemsql is how handlers and their tests reach the business tables:
// one SQL text for SQLite and PostgreSQL, in the transaction of the unit of work
// where there is one.
//
// The stores' packages make a [DB]; the wirings provide it as SQL. Text that runs
// on both databases keeps to what they share: placeholders $1, $2 …, INSERT …
// ON CONFLICT, UPDATE and DELETE with RETURNING, and columns of types TEXT, BIGINT,
// DOUBLE PRECISION and BOOLEAN.
package idemsql

import (
	"context"
	"database/sql"
)

// DB runs statements. In a handler (or the Apply of an external one) they are
// part of its unit of work, provided that they get the handler's own context:
// what they write is committed together with the message, or not at all.
// Elsewhere, such as in a test or the Call of an external handler, each statement
// is its own transaction on the pool.
//
// Statements in a unit of work of another database fail, and change nothing
// anywhere: a write to this one would be committed whatever became of the message.
//
// Placeholders are $1, $2 … and appear in this order; each may be repeated.
// Safe for concurrent use, except that the statements of one unit of work take
// turns: read [Rows] to their end or close them before the next one.
type DB interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (rows int64, err error)
	// QueryRow runs a query for its first row. Errors come with Scan, which
	// must be called.
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Query runs a query. The caller closes the rows.
	Query(ctx context.Context, query string, args ...any) (Rows, error)
}

// Row is the first row of a query.
type Row interface {
	// Scan copies the columns into what dest points to. Without a row the
	// error is [ErrNoRows].
	Scan(dest ...any) error
}

// Rows are the rows of a query, one at a time.
type Rows interface {
	// Next goes to the next row, to the first at the first call. False means
	// the end, or an error: see Err. The rows are closed then.
	Next() bool
	// Scan copies the columns of the row into what dest points to.
	Scan(dest ...any) error
	// Err is what ended the rows early, or nil.
	Err() error
	// Close may be called more than once.
	Close() error
}

// ErrNoRows is what [Row].Scan returns when there is no row. It is
// [sql.ErrNoRows].
var ErrNoRows = sql.ErrNoRows
