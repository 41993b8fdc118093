package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/internal/sqlitedb"
	"github.com/idem-go/idem/transports/internal/queue"
)

// Open opens the database at path as store and transport need it, creating it
// if there is none. The caller closes it after both.
func Open(path string) (*sql.DB, error) { return sqlitedb.Open(path) }

// Config says where the queue is. Only DB is required.
type Config struct {
	// DB comes from [Open], and is the store's as well if acknowledgements
	// are to ride in the handler's transaction. Close of the transport
	// leaves it open.
	DB *sql.DB
	// TablePrefix begins the names of the tables; "" means "idem_".
	TablePrefix string
	// Lease, PollInterval, Retention, CleanEvery and MaxMessageBytes are as
	// for every queue: 0 means 30 s, 250 ms, 168 h, 1 min and 16 MiB. What
	// another process publishes is seen within PollInterval, what this one
	// publishes at once.
	Lease, PollInterval, Retention, CleanEvery time.Duration
	MaxMessageBytes                            int
	// Logger takes what nobody else is told; nil means slog.Default().
	Logger *slog.Logger
}

var prefixes = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

// Validate says which fields make no sense, all of them at once.
func (c Config) Validate() error {
	var errs []error
	if c.DB == nil {
		errs = append(errs, errors.New("sqlite: DB is required: open one with sqlite.Open"))
	}
	if c.TablePrefix != "" && !prefixes.MatchString(c.TablePrefix) {
		errs = append(errs, fmt.Errorf("sqlite: TablePrefix must be 1 to 40 letters, digits or '_', is %q", c.TablePrefix))
	}
	if err := c.options().Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c Config) options() queue.Options {
	return queue.Options{
		Lease: c.Lease, PollInterval: c.PollInterval, Retention: c.Retention, CleanEvery: c.CleanEvery,
		MaxMessageBytes: c.MaxMessageBytes, Logger: c.Logger, LocksOutClaims: true,
	}
}

// Transport is an [idem.Transport] whose queue is in a SQLite database.
type Transport struct {
	*queue.Transport
	b *backend
}

// setupTimeout bounds the creation of the tables by New.
const setupTimeout = 30 * time.Second

// New brings the tables to this version, safely from many processes at once,
// and returns the transport.
func New(c Config) (*Transport, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	b, err := newBackend(ctx, c.DB, cmp.Or(c.TablePrefix, "idem_"))
	if err != nil {
		return nil, err
	}
	t, err := queue.NewTransport("sqlite", b, c.options())
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &Transport{t, b}, nil
}

// PublishTx publishes inside a transaction of the same database: the messages
// exist if it commits. Subscribers notice within PollInterval of the commit.
func (t *Transport) PublishTx(ctx context.Context, tx *sql.Tx, topic string, msgs ...*message.Message) error {
	stored, err := t.Encode(topic, msgs...)
	if err != nil {
		return err
	}
	if err := t.b.publishTx(ctx, tx, topic, stored); err != nil {
		return fmt.Errorf("sqlite: publish to %q: %w", topic, err)
	}
	return nil
}
