// Package pgident tells whether two connections lead to the same PostgreSQL
// database, however their connection strings are written.
package pgident

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Querier is a connection, a pool or a transaction of pgx.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Database returns a string that is the same for two connections exactly if
// they lead to the same database of the same running server. It needs no
// privilege.
//
// The start time of the server tells servers apart, in microseconds. The
// cluster's system identifier would not do: a standby, a restored backup and a
// cloned volume have the same, and a transaction begun in one of them does not
// reach the tables of the other. The price is that identities taken before and
// after a restart of the server differ.
func Database(ctx context.Context, conn Querier) (string, error) {
	var id string
	err := conn.QueryRow(ctx, `
		SELECT format('postgres:%s/%s/%s',
			(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, oid, datname)
		FROM pg_database WHERE datname = current_database()`).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("pgident: cannot identify the database: %w", err)
	}
	return id, nil
}
