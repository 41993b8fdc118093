package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Config says where the store keeps its tables and how long it waits. One of
// DSN and Pool is required; every other zero value has a default.
type Config struct {
	// DSN is the connection string (URL or key=value) of a pool that the
	// store opens and closes itself.
	DSN string
	// Pool is an existing pool to use instead. The store does not close it.
	Pool *pgxpool.Pool

	// Schema of the tables; "" leaves it to the connection's search_path.
	// Migrate creates it when it is missing.
	Schema string
	// TablePrefix begins the names of all tables and indexes: lower-case
	// letters, digits and underscores, at most 30. "" means "idem_".
	TablePrefix string

	// ClaimWait bounds each wait for another attempt's lock on a key, after
	// which Claim returns idem.ErrInFlight. Statements of the handler are not
	// affected. 0 means 5 s.
	ClaimWait time.Duration
	// CommitTimeout is COMMIT's own deadline: it replaces the caller's, which
	// must not end a commit half-way. When it passes, the outcome is unknown.
	// 0 means 10 s.
	CommitTimeout time.Duration
	// AcquireWait bounds the wait for a free connection of the pool. 0 means 10 s.
	AcquireWait time.Duration
	// MaxConns is the size of the pool made from DSN; with Pool it must be 0.
	// 0 leaves it to the DSN's pool_max_conns, else to pgxpool (4, or the
	// number of CPUs if that is more).
	MaxConns int

	// Logger gets what no caller can be told; nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultPrefix = "idem_"
	maxPrefix     = 30 // the longest suffix is 23 bytes, an identifier has at most 63
)

var prefixPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Validate returns every field that is wrong, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("postgres: %s %s", field, fmt.Sprintf(format, args...)))
		}
	}
	check(c.DSN != "" || c.Pool != nil, "DSN", "is missing: set DSN or Pool")
	check(c.DSN == "" || c.Pool == nil, "DSN", "and Pool exclude each other: set one")
	if c.DSN != "" {
		_, err := pgxpool.ParseConfig(c.DSN)
		// The parser's message repeats the string with its password masked at best.
		check(err == nil, "DSN", "is not a PostgreSQL connection string (postgres://user@host:5432/database or host=… dbname=…)")
	}
	check(len(c.Schema) <= 63 && !strings.ContainsRune(c.Schema, 0), "Schema", "must be an identifier of at most 63 bytes")
	check(len(c.TablePrefix) <= maxPrefix && prefixPattern.MatchString(c.TablePrefix), "TablePrefix",
		"must be at most %d lower-case letters, digits and underscores, not starting with a digit, is %q", maxPrefix, c.TablePrefix)
	check(c.ClaimWait >= time.Millisecond, "ClaimWait", "must be at least 1ms, is %v", c.ClaimWait)
	check(c.CommitTimeout > 0, "CommitTimeout", "must be positive, is %v", c.CommitTimeout)
	check(c.AcquireWait > 0, "AcquireWait", "must be positive, is %v", c.AcquireWait)
	check(c.MaxConns >= 0 && c.MaxConns <= 10_000, "MaxConns", "must be within 0..10000, is %d", c.MaxConns)
	check(c.MaxConns == 0 || c.Pool == nil, "MaxConns", "has no effect on a given Pool: set it there")
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.TablePrefix == "" {
		c.TablePrefix = defaultPrefix
	}
	if c.ClaimWait == 0 {
		c.ClaimWait = 5 * time.Second
	}
	if c.CommitTimeout == 0 {
		c.CommitTimeout = 10 * time.Second
	}
	if c.AcquireWait == 0 {
		c.AcquireWait = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}
