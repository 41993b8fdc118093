package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/transports/internal/queue"
)

const (
	defaultPrefix   = "idem_"
	defaultMaxConns = 8
	leastMaxConns   = 2
)

// Config says where the queue is and how it behaves. One of DSN and Pool is
// required; every other zero value is useful.
type Config struct {
	// DSN is the connection string, in any form that pgx reads.
	DSN string
	// Pool gives the connection settings instead of a DSN. The queue opens
	// connections of its own with them, so that handlers that occupy the
	// whole pool cannot keep leases from being extended.
	Pool *pgxpool.Pool
	// Schema holds the tables; "" is the first of the connection's
	// search_path. It is created if missing.
	Schema string
	// TablePrefix begins the name of every table: letters, digits and
	// underscores, at most 32; "" means "idem_".
	TablePrefix string
	// NoMigrate is for roles that may not create tables: New then fails
	// unless [Migrate] was run before.
	NoMigrate bool
	// MaxConns is the size of the queue's own pool, at least 2; 0 means 8.
	// It does not grow with the concurrency, because a connection is needed
	// per statement, not per message. One more connection listens.
	MaxConns int

	// Lease is how long a message stays hidden when its owner dies and the
	// subscriber does not say otherwise; 0 means 30 s.
	Lease time.Duration
	// PollInterval is how long an idle subscriber waits before it looks by
	// itself, for what was published without a wake-up; 0 means 250 ms.
	PollInterval time.Duration
	// Retention is how long acknowledged messages are kept for groups that
	// are yet to come; 0 means 168 h.
	Retention time.Duration
	// CleanEvery is the pause between two clean-ups; 0 means 1 min.
	CleanEvery time.Duration
	// MaxMessageBytes bounds key, headers and payload together; 0 means 16 MiB.
	MaxMessageBytes int
	// PublishTimeout bounds one transaction of a publish; 0 means 30 s.
	PublishTimeout time.Duration
	// Logger takes what nobody else is told; nil means slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.TablePrefix = cmp.Or(c.TablePrefix, defaultPrefix)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c Config) options() queue.Options {
	return queue.Options{
		Lease: c.Lease, PollInterval: c.PollInterval, Retention: c.Retention, CleanEvery: c.CleanEvery,
		MaxMessageBytes: c.MaxMessageBytes, PublishTimeout: c.PublishTimeout, Logger: c.Logger,
	}
}

// Validate returns every field that makes no sense, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("postgres: "+format, args...))
		}
	}
	check((c.DSN == "") != (c.Pool == nil), "exactly one of DSN and Pool must be set")
	check(len(c.Schema) <= 63, "Schema must be at most 63 bytes, has %d", len(c.Schema))
	check(prefixPattern.MatchString(c.TablePrefix),
		"TablePrefix must be at most 32 letters, digits and underscores and not begin with a digit, is %q", c.TablePrefix)
	check(c.MaxConns == 0 || c.MaxConns >= leastMaxConns, "MaxConns must be at least %d, is %d", leastMaxConns, c.MaxConns)
	if c.DSN != "" {
		_, err := pgxpool.ParseConfig(c.DSN)
		check(err == nil, "DSN: %w", err)
	}
	return errors.Join(append(errs, c.options().Validate())...)
}

// poolConfig describes the queue's own pool.
func (c Config) poolConfig() (*pgxpool.Config, error) {
	if c.Pool != nil {
		p := c.Pool.Config()
		p.MaxConns = int32(cmp.Or(c.MaxConns, defaultMaxConns))
		p.MinConns, p.MinIdleConns = 0, 0
		return p, nil
	}
	p, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("postgres: DSN: %w", err)
	}
	p.MaxConns = int32(cmp.Or(c.MaxConns, defaultMaxConns))
	return p, nil
}
