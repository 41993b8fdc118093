package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed schema.sql
var schema1 string

// migrations lead from each version of the tables to the next.
var migrations = []string{schema1}

// now is the database's clock in milliseconds.
const now = `CAST(round(unixepoch('subsec') * 1000) AS INTEGER)`

// names turns {name} in SQL into the prefixed name, and {now} into the clock.
func names(prefix string) func(string) string {
	open := strings.NewReplacer("{now}", now, "{", prefix, "}", "")
	return open.Replace
}

func migrate(ctx context.Context, db *sql.DB, sqlOf func(string) string) error {
	return inTx(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, sqlOf(`CREATE TABLE IF NOT EXISTS {queue_version} (version INTEGER NOT NULL) STRICT`)); err != nil {
			return err
		}
		var version int
		if err := tx.QueryRowContext(ctx, sqlOf(`SELECT coalesce(max(version), 0) FROM {queue_version}`)).Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("the tables have version %d, this program knows %d: deploy a newer one", version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.ExecContext(ctx, sqlOf(migrations[version])); err != nil {
				return fmt.Errorf("to version %d: %w", version+1, err)
			}
			if _, err := tx.ExecContext(ctx, sqlOf(`INSERT INTO {queue_version} VALUES (?)`), version+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTx runs f in a transaction that commits when f returns nil.
func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
