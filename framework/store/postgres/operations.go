package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/store/internal/opsql"
)

// ops is the operators' part of the store; unexported, so that it shows as
// methods only.
type ops = opsql.Ops

const (
	// The consumers are few and their index is long: it is jumped through.
	findRecordsSQL = `WITH RECURSIVE consumers AS (
	SELECT min(consumer) AS consumer FROM {inbox}
	UNION ALL
	SELECT (SELECT min(i.consumer) FROM {inbox} i WHERE i.consumer > c.consumer) FROM consumers c WHERE c.consumer IS NOT NULL
)
SELECT i.consumer, i.status, i.fingerprint, i.token, i.attempts, i.last_error, i.result, i.message_id, i.source,
	coalesce((extract(epoch FROM i.lease_until - clock_timestamp()) * 1000000)::bigint, 0),
	(extract(epoch FROM i.first_seen) * 1000000)::bigint, coalesce((extract(epoch FROM i.first_failed) * 1000000)::bigint, 0),
	(extract(epoch FROM i.expires_at) * 1000000)::bigint
FROM consumers c JOIN {inbox} i ON i.consumer = c.consumer AND i.key = $1 ORDER BY i.consumer`

	listOutboxSQL = `SELECT seq, id, topic, key, coalesce(octet_length(payload), 0), attempts,
	(extract(epoch FROM ready_at - clock_timestamp()) * 1000000)::bigint, CASE WHEN leased_until > clock_timestamp() THEN 1 ELSE 0 END
FROM {outbox} ORDER BY seq LIMIT $1`
)

func (s *Store) newOps() (*opsql.Ops, error) {
	texts, err := migrationTexts()
	if err != nil {
		return nil, err
	}
	return opsql.New(opsql.Backend{
		Read: func(ctx context.Context, what string, fn func(opsql.Conn) error) error {
			conn, err := s.acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			if err := fn(statementsOn{conn}); err != nil {
				return storeError(what, err)
			}
			return nil
		},
		Write: func(ctx context.Context, what string, fn func(opsql.Conn) error) error {
			conn, err := s.acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			if err := pgx.BeginTxFunc(ctx, conn, beginOptions, func(tx pgx.Tx) error { return fn(statementsOn{tx}) }); err != nil {
				return storeError(what, err)
			}
			return nil
		},
		In: func(unit idem.Tx) (opsql.Conn, error) {
			t, ok := unit.(*tx)
			if !ok || t.store != s {
				return nil, idem.Bug(fmt.Errorf("postgres: the transaction is a %T, not one that this store's Do gave", unit))
			}
			return statementsOn{t.Native().(pgx.Tx)}, nil
		},
		Names: s.names.replace, Untext: untext, FindRecords: findRecordsSQL, ListOutbox: listOutboxSQL, Migrations: texts,
		Version: func(ctx context.Context, c opsql.Conn) (int, error) {
			found, err := opsql.Names(ctx, c, `SELECT coalesce(to_regclass($1)::text, '')`, s.names.replace.Replace("{migration}"))
			if err != nil || found[0] == "" {
				return 0, err
			}
			var version int
			rows, err := c.Query(ctx, s.names.replace.Replace(versionSQL))
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
			return opsql.Names(ctx, c, `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
				WHERE i.indisvalid AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass($1))`, s.names.replace.Replace("{inbox}"))
		},
	}), nil
}

// statementsOn runs the statements of package opsql.
type statementsOn struct{ to executor }

func (c statementsOn) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.to.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (c statementsOn) Query(ctx context.Context, query string, args ...any) (idemsql.Rows, error) {
	r, err := c.to.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows{r}, nil
}
