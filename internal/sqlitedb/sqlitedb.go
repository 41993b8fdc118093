// Package sqlitedb opens SQLite databases the way idem's store and queue need
// them: write-ahead log, immediate transactions, and one line for the writers
// of a process.
//
// SQLite has one writer at a time. Its own way of waiting, trying again after a
// pause, lets newcomers overtake and sleeps longer than needed; so a transaction
// of a database opened here first waits for its turn among the transactions of
// this process, in order and for as long as its context allows. Writers of
// other processes are then waited for in SQLite's way. Reads never wait, not
// even while the same goroutine has a transaction open; they see what is
// committed. BeginTx with sql.TxOptions{ReadOnly: true} does not wait either.
//
// A second transaction begun by a goroutine that has one open waits for itself:
// it ends with its context, or with an error after [Options].TurnTimeout.
package sqlitedb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
)

// Memory is the path of a database in memory. It has a single connection, so
// everything waits while a transaction is open, reads included; for tests.
const Memory = ":memory:"

// Options tune a database. The zero value is useful.
type Options struct {
	// Normal gives up the last transactions when the machine loses power, for
	// speed; the database stays consistent. A crash of the process alone
	// loses nothing either way. The default flushes at each commit.
	Normal bool
	// BusyTimeout is how long to wait for a writer in another process; 0
	// means 10 s.
	BusyTimeout time.Duration
	// TurnTimeout is how long a transaction waits for the others of this
	// process when its context ends no earlier; 0 means 1 min.
	TurnTimeout time.Duration
}

// Open opens the database at path with the default options, creating it if
// there is none. The caller closes it.
func Open(path string) (*sql.DB, error) { return OpenWith(path, Options{}) }

// OpenWith is [Open] with options.
func OpenWith(path string, o Options) (*sql.DB, error) {
	dsn, err := dsn(path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlitedb: open %q: %w", path, err)
	}
	base, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("sqlitedb: open %q: %w", path, err)
	}
	db := sql.OpenDB(&connector{
		Connector: base,
		turn:      make(chan struct{}, 1),
		timeout:   cmp.Or(o.TurnTimeout, time.Minute),
	})
	if path == Memory {
		db.SetMaxOpenConns(1) // each connection would have its own database
	} else {
		// Connections are not limited: those that wait for their turn would
		// keep the one whose turn it is from reading.
		db.SetMaxIdleConns(16)
	}
	if err := db.PingContext(context.Background()); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("sqlitedb: open %q: %w: is its folder there and writable?", path, err)
	}
	return db, nil
}

func dsn(path string, o Options) (string, error) {
	q := url.Values{
		"_txlock":       {"immediate"},
		"_busy_timeout": {fmt.Sprint(cmp.Or(o.BusyTimeout, 10*time.Second).Milliseconds())},
		"_foreign_keys": {"on"},
		"_synchronous":  {"FULL"},
	}
	if o.Normal {
		q.Set("_synchronous", "NORMAL")
	}
	if path == Memory {
		return path + "?" + q.Encode(), nil
	}
	q.Set("_journal_mode", "WAL")
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}).String(), nil
}

// Identity names the database behind db: two pools on one file have the same
// identity, whatever path they were opened with.
func Identity(ctx context.Context, db *sql.DB) (string, error) {
	var path string
	err := db.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&path)
	if err != nil {
		return "", fmt.Errorf("sqlitedb: identify the database: %w", err)
	}
	if path == "" {
		return fmt.Sprintf("sqlite:memory:%p", db), nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return "sqlite:" + path, nil
}
