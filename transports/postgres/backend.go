package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

// backend is the [queue.Backend] over one set of tables.
type backend struct {
	pool     *pgxpool.Pool
	names    names
	sql      statements
	database string
	log      *slog.Logger

	// groups caches the ids of groups by topic and name.
	groups sync.Map // [2]string → int32

	wakes    queue.Wakes
	notifier *notifier
	listen   sync.Once

	// life ends with Close; work counts the goroutines that then end.
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

var _ queue.Backend = (*backend)(nil)

func newBackend(ctx context.Context, c Config) (*backend, error) {
	pool, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	n, err := prepare(ctx, pool, c, !c.NoMigrate)
	if err != nil {
		pool.Close()
		return nil, err
	}
	database, err := identify(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	b := &backend{pool: pool, names: n, sql: newStatements(n), database: database, log: c.Logger}
	b.life, b.end = context.WithCancel(context.Background())
	b.notifier = newNotifier(pool, n.Channel)
	b.work.Go(func() { b.notifier.run(b.life) })
	return b, nil
}

// pipeline runs statements in one transaction and one round trip.
func (b *backend) pipeline(ctx context.Context, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	queue(batch)
	batch.Queue("COMMIT")
	return b.pool.SendBatch(ctx, batch).Close()
}

func (b *backend) Publish(ctx context.Context, topic string, msgs []queue.Message) error {
	err := b.pipeline(ctx, func(batch *pgx.Batch) {
		for _, args := range b.inserts(topic, msgs) {
			batch.Queue(b.sql.insert, args...)
		}
	})
	if err == nil {
		b.wake(topic)
	}
	return err
}

func (b *backend) Register(ctx context.Context, topic, group string) error {
	for {
		_, err := b.group(ctx, topic, group)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		err = b.register(ctx, topic, group)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55P03" { // lock_not_available
			return err
		}
		// Publishers queue up behind us while we wait for the lock; let them pass.
		select {
		case <-time.After(registerWait/2 + rand.N(registerWait)):
		case <-ctx.Done():
			return fmt.Errorf("waiting for open transactions that published to the topic: %w", context.Cause(ctx))
		}
	}
}

// registerWait is the longest that registering a group holds up publishers
// while an open transaction keeps it waiting.
const registerWait = 50 * time.Millisecond

func (b *backend) register(ctx context.Context, topic, group string) error {
	return pgx.BeginTxFunc(ctx, b.pool, readCommitted, func(tx pgx.Tx) error {
		timeout := `SELECT set_config('lock_timeout', $1, true)`
		batch := &pgx.Batch{}
		batch.Queue(settings)
		batch.Queue(`SET LOCAL synchronous_commit = on`)
		batch.Queue(timeout, fmt.Sprint(registerWait.Milliseconds()))
		batch.Queue(b.sql.lockKeep)
		batch.Queue(b.sql.lockTopic, topic)
		batch.Queue(timeout, "0")
		batch.Queue(b.sql.touchTopic, topic)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		var id int32
		err := tx.QueryRow(ctx, b.sql.addGroup, topic, group).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, b.sql.backlog, topic, id)
		return err
	})
}

// group returns the id of a registered group, or [pgx.ErrNoRows].
func (b *backend) group(ctx context.Context, topic, group string) (id int32, err error) {
	key := [2]string{topic, group}
	if id, ok := b.groups.Load(key); ok {
		return id.(int32), nil
	}
	if err := b.pool.QueryRow(ctx, b.sql.group, topic, group).Scan(&id); err != nil {
		return 0, fmt.Errorf("group %q of topic %q: %w", group, topic, err)
	}
	b.groups.Store(key, id)
	return id, nil
}

func (b *backend) NextDue(ctx context.Context, topic, group string) (d time.Duration, ok bool, err error) {
	id, err := b.group(ctx, topic, group)
	if err != nil {
		return 0, false, err
	}
	err = b.pipeline(ctx, func(batch *pgx.Batch) {
		batch.Queue(settings)
		batch.Queue(b.sql.nextDue, id).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&d)
			ok = err == nil
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	})
	return d, ok, err
}

func (b *backend) Depth(ctx context.Context, topic, group string) (n int, oldest time.Duration, err error) {
	id, err := b.group(ctx, topic, group)
	if err != nil {
		return 0, 0, err
	}
	err = b.pool.QueryRow(ctx, b.sql.depth, id).Scan(&n, &oldest)
	return n, max(oldest, 0), err
}

// Clean does nothing while another process cleans or a group registers.
func (b *backend) Clean(ctx context.Context, retention time.Duration, limit int) (n int, err error) {
	err = pgx.BeginTxFunc(ctx, b.pool, readCommitted, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, b.names.Upkeep).Scan(&mine); err != nil || !mine {
			return err
		}
		if _, err := tx.Exec(ctx, settings); err != nil {
			return err
		}
		// Only a delete in a transaction with an old snapshot, or two deletes
		// of one lane at a time, can leave a lane without its next row.
		if _, err := tx.Exec(ctx, b.sql.heal); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, b.sql.clean, retention, limit)
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (b *backend) AckTx(ctx context.Context, native any, leases ...queue.Lease) error {
	stmt, args := b.sql.ackOne, []any{leases[0].ID, leases[0].Token} // without arrays to unpack
	if len(leases) > 1 {
		ids, tokens := columns(leases)
		stmt, args = b.sql.ack, []any{ids, tokens}
	}
	var n int64
	var err error
	switch tx := native.(type) {
	case pgx.Tx:
		var tag pgconn.CommandTag
		tag, err = tx.Exec(ctx, stmt, args...)
		n = tag.RowsAffected()
	case *sql.Tx:
		var res sql.Result
		if res, err = tx.ExecContext(ctx, stmt, args...); err == nil {
			n, err = res.RowsAffected()
		}
	default:
		return fmt.Errorf("postgres: cannot acknowledge in a %T: want a pgx.Tx or *sql.Tx of the database that holds the queue", native)
	}
	if err != nil {
		return fmt.Errorf("postgres: acknowledge in a transaction: %w", err)
	}
	if n < int64(len(leases)) {
		return fmt.Errorf("postgres: acknowledge in a transaction: %w", idem.ErrLeaseLost)
	}
	return nil
}

func (b *backend) Database() string { return b.database }

func (b *backend) Ping(ctx context.Context) error { return b.pool.Ping(ctx) }

func (b *backend) Close() error {
	b.end()
	b.work.Wait()
	b.pool.Close()
	return nil
}
