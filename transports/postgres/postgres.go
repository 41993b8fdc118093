// Package postgres is a message queue in PostgreSQL 13 and later.
//
// Every message is fanned out to the topic's groups by a trigger, so any
// INSERT publishes: ours, watermill-sql's through [Transport.Schema], or one
// by hand. Deliveries are claimed one by one with FOR UPDATE SKIP LOCKED under
// leases, never by position, so transactions may commit in any order and stay
// open for any time without hiding or losing a message.
//
// # Order by key
//
// The claims of one group take turns, and each sees what the one before it
// has committed. A claim takes a delivery only if it is the oldest of its key
// and no other of the key is out; the rest it parks, so that a key with a
// large backlog is looked through once and not by every claim. Deleting the
// oldest brings back the next. The order of one key is that of the message
// ids, which follow the order of publishing as long as nobody gives the
// identity column's sequence a cache.
//
// # What slows it down
//
// A delivery leaves several dead rows behind, which neither vacuum nor an
// index scan can pass over while an old snapshot still needs them. A
// transaction that stays open for hours, or a dump, does not hide or delay any
// message, but makes claims slower the more messages went through meanwhile.
//
// A group that is no longer consumed keeps its messages: delete its rows from
// the tables of deliveries and groups.
//
// # Connections
//
// A small pool of the queue's own, and one connection that listens. Claims,
// acknowledgements and extensions are committed asynchronously: a crash of the
// server may undo the last fraction of a second of them, which delivers
// messages again and loses none. Publishing is as durable as the server's
// settings say.
package postgres

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/pgident"
	"github.com/idem-go/idem/transports/internal/queue"
)

// Transport is an [idem.Transport] whose queue is a PostgreSQL database. Safe
// for concurrent use, and by many processes at once.
type Transport struct {
	*queue.Transport
	b *backend
}

var _ idem.Transport = (*Transport)(nil)

// readCommitted is what every statement here relies on, whatever the server's default.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// New connects, brings the tables up to date and returns the transport. The
// error names every field of c that makes no sense.
func New(ctx context.Context, c Config) (*Transport, error) {
	c = c.withDefaults()
	b, err := newBackend(ctx, c)
	if err != nil {
		return nil, err
	}
	t, err := queue.NewTransport("postgres", b, c.options())
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return &Transport{Transport: t, b: b}, nil
}

// PublishTx stores messages inside the caller's transaction: they are
// delivered if and when it commits. A subscriber notices within the
// PollInterval, or at once if [Transport.Wake] is called after the commit.
//
// In a transaction of isolation REPEATABLE READ or SERIALIZABLE it fails with
// SQLSTATE 40001 when a group registered for the topic since the transaction
// began; run the transaction again.
func (t *Transport) PublishTx(ctx context.Context, tx pgx.Tx, topic string, msgs ...*message.Message) error {
	stored, err := t.Encode(topic, msgs...)
	if err != nil {
		return err
	}
	for _, args := range t.b.inserts(topic, stored) {
		if _, err := tx.Exec(ctx, t.b.sql.insert, args...); err != nil {
			return fmt.Errorf("postgres: publish to %q in a transaction: %w", topic, err)
		}
	}
	return nil
}

// Wake tells the subscribers of a topic, in every process, that something was
// published past [Transport.Publisher]. It does not block.
func (t *Transport) Wake(topic string) { t.b.wake(topic) }

// open checks c and connects.
func open(ctx context.Context, c Config) (*pgxpool.Pool, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	pc, err := c.poolConfig()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return pool, nil
}

// identify returns [idem.Capabilities].Database.
func identify(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	id, err := pgident.Database(ctx, pool)
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	return id, nil
}
