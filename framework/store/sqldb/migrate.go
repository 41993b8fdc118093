package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

//go:embed migrations
var migrations embed.FS

// Migrate implements [idem.Store]: it applies the missing migrations in one
// transaction. Many processes may call it at once; one does the work. Tables
// that are newer than this program are left alone, so that old and new
// versions can run side by side during a deployment.
func (s *Store) Migrate(ctx context.Context) error {
	const patience = 30 * time.Second
	for deadline := time.Now().Add(patience); ; {
		err := s.transact(ctx, "migrate", func(tx *sql.Tx) error { return s.migrate(ctx, tx) })
		if err == nil || !s.dialect.busy(err) || time.Now().After(deadline) {
			return err
		}
		select { // another process migrates and the connection's busy_timeout is short
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Store) migrate(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, s.sql.createSchema); err != nil {
		return s.failure(ctx, "create the table of versions", err)
	}
	var have int
	if err := tx.QueryRowContext(ctx, s.sql.schemaVersion).Scan(&have); err != nil {
		return s.failure(ctx, "read the tables' version", err)
	}
	files, err := s.migrationFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.version <= have {
			continue
		}
		if _, err := tx.ExecContext(ctx, s.names.Replace(f.text)); err != nil {
			return s.failure(ctx, "migration "+f.name, err)
		}
		if _, err := tx.ExecContext(ctx, s.sql.recordMigration, f.version, f.name); err != nil {
			return s.failure(ctx, "record migration "+f.name, err)
		}
	}
	return nil
}

type migrationFile struct {
	version    int
	name, text string
}

// migrationFiles returns the dialect's migrations in the order of their versions.
func (s *Store) migrationFiles() (list []migrationFile, err error) {
	files, err := fs.Glob(migrations, "migrations/"+s.dialect.migrations+"/*.sql")
	if err != nil {
		return nil, fmt.Errorf("sqldb: list migrations: %w", err)
	}
	for _, file := range files { // sorted by name, which begins with the version
		name := file[strings.LastIndex(file, "/")+1:]
		version, err := strconv.Atoi(name[:4])
		if err != nil {
			return nil, fmt.Errorf("sqldb: migration %s: its name must begin with four digits: %w", name, err)
		}
		text, err := migrations.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("sqldb: migration %s: %w", name, err)
		}
		list = append(list, migrationFile{version, name, string(text)})
	}
	return list, nil
}
