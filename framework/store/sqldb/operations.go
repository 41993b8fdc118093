package sqldb

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/store/internal/opsql"
)

// ops is the operators' part of the store; unexported, so that it shows as
// methods only.
type ops = opsql.Ops

func (s *Store) newOps() (*opsql.Ops, error) {
	files, err := s.migrationFiles()
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, f := range files {
		texts = append(texts, f.text)
	}
	return opsql.New(opsql.Backend{
		Read: func(ctx context.Context, what string, fn func(opsql.Conn) error) error {
			if err := s.refuseRead(ctx, what); err != nil {
				return err
			}
			if err := fn(statementsOn{s.db}); err != nil {
				return s.failure(ctx, what, err)
			}
			return nil
		},
		Write: func(ctx context.Context, what string, fn func(opsql.Conn) error) error {
			return s.transact(ctx, what, func(tx *sql.Tx) error {
				if err := fn(statementsOn{tx}); err != nil {
					return s.failure(ctx, what, err)
				}
				return nil
			})
		},
		In: func(tx idem.Tx) (opsql.Conn, error) {
			u, ok := tx.(*unit)
			if !ok || u.s != s {
				return nil, idem.Bug(fmt.Errorf("sqldb: the transaction is a %T, not one that this store's Do gave", tx))
			}
			return statementsOn{u.tx}, nil
		},
		Names: s.names, Untext: func(text string) string { return text }, Migrations: texts,
		FindRecords: s.dialect.findRecords, ListOutbox: s.dialect.listOutbox,
		Version: func(ctx context.Context, c opsql.Conn) (version int, err error) {
			found, err := opsql.Names(ctx, c, s.dialect.tables, s.cfg.TablePrefix+"schema")
			if err != nil || len(found) == 0 {
				return 0, err
			}
			rows, err := c.Query(ctx, s.sql.schemaVersion)
			if err != nil {
				return 0, err
			}
			defer rows.Close()
			for rows.Next() {
				if err := rows.Scan(&version); err != nil {
					return 0, err
				}
			}
			return version, rows.Err()
		},
		Indexes: func(ctx context.Context, c opsql.Conn) ([]string, error) {
			return opsql.Names(ctx, c, s.dialect.indexes)
		},
	}), nil
}

// statementsOn runs the statements of package opsql.
type statementsOn struct{ to executor }

func (c statementsOn) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := c.to.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c statementsOn) Query(ctx context.Context, query string, args ...any) (idemsql.Rows, error) {
	rows, err := c.to.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller reads them
	if err != nil {
		return nil, err // not rows, which would be a nil pointer in an interface
	}
	return rows, nil
}
