package postgres

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Migrations are applied in the order of their names; the number of applied
// ones is the version. A released file is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

const versionSQL = `SELECT coalesce(max(version), 0) FROM {migration}`

// migrationTexts returns all of them; that of version n is at n-1.
func migrationTexts() (texts []string, err error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, fmt.Errorf("postgres: list migrations: %w", err)
	}
	for _, f := range files {
		text, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("postgres: migration %s: %w", f.Name(), err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// Migrate implements [idem.Store]. It creates the schema and the tables, or
// brings them to this version, in one transaction; many processes may call it
// at once. Tables of a later version are left as they are. The role needs
// CREATE on the schema, and on the database if the schema is missing.
func (s *Store) Migrate(ctx context.Context) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.migrate(ctx, tx) }); err != nil {
		return storeError("migration", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, s.names.lockID("migrate")); err != nil {
		return err
	}
	exec := func(what, sql string) error {
		// Several statements in one text need the simple protocol.
		if _, err := tx.Exec(ctx, s.names.replace.Replace(sql), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	if s.names.schema != "" {
		// IF NOT EXISTS alone asks for the right to create it even if it exists.
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, s.cfg.Schema).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			if err := exec("schema", `CREATE SCHEMA `+s.names.schema); err != nil {
				return err
			}
		}
	}
	if err := exec("version table", `CREATE TABLE IF NOT EXISTS {migration} (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`); err != nil {
		return err
	}
	var version int
	if err := tx.QueryRow(ctx, s.names.replace.Replace(versionSQL)).Scan(&version); err != nil {
		return err
	}
	texts, err := migrationTexts()
	if err != nil {
		return err
	}
	for n := version + 1; n <= len(texts); n++ {
		if err := exec(fmt.Sprint("migration ", n), texts[n-1]); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, s.names.replace.Replace(`INSERT INTO {migration} (version) VALUES ($1)`), n); err != nil {
			return err
		}
	}
	return nil
}
