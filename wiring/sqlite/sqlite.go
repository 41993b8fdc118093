// Package sqlite wires the SQLite queue with the store in the same file, so
// that acknowledgements ride in the handler's transaction.
package sqlite

import (
	"database/sql"
	"log/slog"

	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	transport "github.com/idem-go/idem/transports/sqlite"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/internal/sqlitestore"
)

// Parts are the assembled application and its database.
type Parts struct {
	wiring.Parts
	DB *sql.DB
	// SQL is the same database for handlers: it takes part in their unit of work.
	SQL idemsql.DB
}

// Set provides Parts for a context, an idem.Config and wiring.Options.
var Set = wire.NewSet(wiring.Set, sqlitestore.Set, NewTransport, wire.Struct(new(Parts), "*"),
	wire.Bind(new(idem.Transport), new(*transport.Transport)))

// NewTransport makes the queue.
func NewTransport(cfg idem.Config, db *sql.DB, log *slog.Logger) (*transport.Transport, func(), error) {
	if err := wiring.WantTransport(cfg, "sqlite"); err != nil {
		return nil, nil, err
	}
	t, err := transport.New(transport.Config{
		DB: db, Lease: cfg.Queue.Lease, PollInterval: cfg.Queue.PollInterval, Retention: cfg.Queue.Retention, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return t, wiring.CloseFunc("transport", log, t.Close), nil
}
