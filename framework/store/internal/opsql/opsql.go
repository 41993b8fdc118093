// Package opsql is the operators' part of a SQL store, written once for every
// database: its statements are those that SQLite and PostgreSQL have in common.
// Times are integer microseconds since 1970 by the database's clock.
package opsql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
)

// Conn runs statements with the placeholders $1, $2 …
type Conn interface {
	Exec(ctx context.Context, query string, args ...any) (rows int64, err error)
	Query(ctx context.Context, query string, args ...any) (idemsql.Rows, error)
}

// Backend is what differs from one database to another.
type Backend struct {
	// Read runs fn on a connection, Write in a transaction of its own. What
	// names the work in errors.
	Read, Write func(ctx context.Context, what string, fn func(Conn) error) error
	// In returns the connection of a unit of work of the store.
	In func(tx idem.Tx) (Conn, error)
	// Names replaces {audit}, {now} and the like.
	Names *strings.Replacer
	// Untext undoes what the store does to texts that its columns cannot hold.
	Untext func(string) string
	// FindRecords selects what [Ops.FindRecords] scans, for the key $1.
	FindRecords string
	// ListOutbox selects what [Ops.ListOutbox] scans, at most $1 rows.
	ListOutbox string
	// Version returns the version of the tables, 0 if there are none.
	Version func(context.Context, Conn) (int, error)
	// Indexes returns the names of the indexes that exist.
	Indexes func(context.Context, Conn) ([]string, error)
	// Migrations are the texts of all migrations, in their order, with names.
	Migrations []string
}

// Ops implements [idem.Operations]. Safe for concurrent use.
type Ops struct{ b Backend }

var _ idem.Operations = (*Ops)(nil)

// New returns the operators' part of a store.
func New(b Backend) *Ops { return &Ops{b} }

func (o *Ops) sql(text string) string { return o.b.Names.Replace(text) }

// exec runs a statement in tx.
func (o *Ops) exec(ctx context.Context, tx idem.Tx, what, text string, args ...any) (int64, error) {
	c, err := o.b.In(tx)
	if err != nil {
		return 0, err
	}
	n, err := c.Exec(ctx, o.sql(text), args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %w", what, idem.ErrStore, err)
	}
	return n, nil
}

// scanner reads the columns of a row.
type scanner func(dest ...any) error

// collect runs a query and makes a value of each row.
func collect[T any](ctx context.Context, o *Ops, what, text string, scan func(scanner) (T, error), args ...any) (list []T, err error) {
	err = o.b.Read(ctx, what, func(c Conn) error {
		rows, err := c.Query(ctx, o.sql(text), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows.Scan)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
		return rows.Err()
	})
	return list, err
}

// number reads the only column of the only row.
func (o *Ops) number(ctx context.Context, c Conn, text string, args ...any) (n int64, err error) {
	rows, err := c.Query(ctx, o.sql(text), args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, rows.Err()
}

// clean makes a text for people fit for a column of text.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func micros(us int64) time.Time { return time.UnixMicro(us) }

func span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

func atMost(limit, most, usual int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, most)
}
