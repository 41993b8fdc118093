// Package sqldb is a store over database/sql. It speaks SQLite; the [Dialect]
// is where another database comes in.
package sqldb

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

// Config of a [Store]. DB and Identity are required.
type Config struct {
	// DB is opened and closed by the caller. For SQLite: write-ahead log,
	// transactions that begin immediate (_txlock=immediate) and a busy_timeout
	// of a few seconds.
	DB *sql.DB
	// Dialect is the database's; the zero value is [SQLite].
	Dialect Dialect
	// Identity is what Database returns: the same for every handle on one
	// database and for no other. For SQLite the file's absolute path.
	Identity string
	// TablePrefix begins the name of every table. "" means "idem_".
	TablePrefix string
	// ClaimWait is how long Claim waits for a key that another transaction
	// holds. 0 means 5 s. SQLite does not use it: there a transaction waits
	// for the whole database when it begins, as long as the busy_timeout says.
	ClaimWait time.Duration
	// OutboxRetention is how long the id of a published row is kept, so that
	// it is not emitted again. 0 means not at all.
	OutboxRetention time.Duration
	// Logger gets what no caller can be told. Nil discards it.
	Logger *slog.Logger
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

func (c Config) withDefaults() Config {
	if c.Dialect.name == "" {
		c.Dialect = SQLite()
	}
	if c.TablePrefix == "" {
		c.TablePrefix = "idem_"
	}
	if c.ClaimWait == 0 {
		c.ClaimWait = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate returns every field that makes no sense, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("sqldb: "+format, args...))
		}
	}
	check(c.DB != nil, "DB is missing")
	check(c.Identity != "", "Identity is missing: give the database's absolute path or its server and name")
	check(identifier.MatchString(c.TablePrefix), "TablePrefix must be a letter or '_' and at most 39 more letters, digits or '_', is %q", c.TablePrefix)
	check(c.ClaimWait > 0, "ClaimWait must be positive, is %v", c.ClaimWait)
	check(c.OutboxRetention >= 0, "OutboxRetention must not be negative, is %v", c.OutboxRetention)
	return errors.Join(errs...)
}
