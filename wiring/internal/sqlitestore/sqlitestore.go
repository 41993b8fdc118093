// Package sqlitestore makes the store in a SQLite file from a configuration.
package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"

	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	store "github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/internal/sqlitedb"
	"github.com/idem-go/idem/wiring"
)

// Set provides the database, the database as handlers see it, and the store.
var Set = wire.NewSet(OpenDB, NewSQL, NewStore, wire.Bind(new(idem.Store), new(*store.Store)))

// OpenDB opens the file of the configuration, making it if it is missing.
func OpenDB(cfg idem.Config, log *slog.Logger) (*sql.DB, func(), error) {
	if err := wiring.WantStore(cfg, "sqlite"); err != nil {
		return nil, nil, err
	}
	db, err := sqlitedb.OpenWith(cmp.Or(cfg.SQLite.Path, "idem.db"), sqlitedb.Options{Normal: cfg.SQLite.Synchronous == "normal"})
	if err != nil {
		return nil, nil, err
	}
	return db, wiring.CloseFunc("sqlite", log, db.Close), nil
}

// NewSQL makes what handlers use.
func NewSQL(db *sql.DB) idemsql.DB { return store.SQL(db) }

// NewStore makes the store.
func NewStore(ctx context.Context, db *sql.DB, log *slog.Logger) (*store.Store, error) {
	identity, err := sqlitedb.Identity(ctx, db)
	if err != nil {
		return nil, err
	}
	return store.New(store.Config{DB: db, Identity: identity, Logger: log})
}
