package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are in order of their names; the version of the schema is the
// number of those applied.
func migrations() ([]string, error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(files))
	for i, file := range files {
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}

// Migrate brings the tables to the version that this package needs. Many
// processes may call it at once. [New] does it too, unless Config.NoMigrate.
func Migrate(ctx context.Context, c Config) error {
	c = c.withDefaults()
	pool, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = prepare(ctx, pool, c, true)
	return err
}

// prepare finds the schema and sees to its version.
func prepare(ctx context.Context, pool *pgxpool.Pool, c Config, migrate bool) (names, error) {
	schema := c.Schema
	if schema == "" {
		if err := pool.QueryRow(ctx, `SELECT coalesce(current_schema(), '')`).Scan(&schema); err != nil {
			return names{}, fmt.Errorf("postgres: finding the schema: %w", err)
		}
		if schema == "" {
			return names{}, fmt.Errorf("postgres: no schema of the search_path exists: set Config.Schema")
		}
	}
	n := newNames(schema, c.TablePrefix)
	texts, err := migrations()
	if err != nil {
		return names{}, fmt.Errorf("postgres: reading migrations: %w", err)
	}
	if migrate {
		err = pgx.BeginTxFunc(ctx, pool, readCommitted, func(tx pgx.Tx) error {
			return apply(ctx, tx, schema, n, texts)
		})
	} else {
		var have int
		have, err = version(ctx, pool, n)
		if err == nil && have < len(texts) {
			err = fmt.Errorf("tables have version %d of %d: run postgres.Migrate first", have, len(texts))
		}
	}
	if err != nil {
		return names{}, fmt.Errorf("postgres: schema %q: %w", schema, err)
	}
	return n, nil
}

func apply(ctx context.Context, tx pgx.Tx, schema string, n names, texts []string) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, n.Upkeep); err != nil {
		return err
	}
	have, err := version(ctx, tx, n)
	if err != nil || have >= len(texts) { // never step back from a newer version
		return err
	}
	if have == 0 {
		// Asking first: CREATE SCHEMA needs a privilege even if there is nothing to do.
		var missing bool
		if err := tx.QueryRow(ctx, `SELECT to_regnamespace(quote_ident($1)) IS NULL`, schema).Scan(&missing); err != nil {
			return err
		}
		if missing {
			if _, err := tx.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{schema}.Sanitize()); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE `+n.Version+` (version int NOT NULL);
			INSERT INTO `+n.Version+` VALUES (0)`); err != nil {
			return err
		}
	}
	for i, text := range texts[have:] {
		if _, err := tx.Exec(ctx, n.fill(text)); err != nil {
			return fmt.Errorf("migration %d: %w", have+i+1, err)
		}
	}
	_, err = tx.Exec(ctx, `UPDATE `+n.Version+` SET version = $1`, len(texts))
	return err
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func version(ctx context.Context, q querier, n names) (v int, err error) {
	var exists bool
	if err := q.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, n.Version).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = q.QueryRow(ctx, `SELECT version FROM `+n.Version).Scan(&v)
	return v, err
}

// fill puts the names into a statement, which is part of this package: an
// error in it is a mistake of ours.
func (n names) fill(text string) string {
	var b strings.Builder
	if err := template.Must(template.New("sql").Parse(text)).Execute(&b, n); err != nil {
		panic("postgres: statement template: " + err.Error())
	}
	return b.String()
}
