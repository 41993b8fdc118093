package postgres

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// notifyPause is the least time between two notifications of a process.
	notifyPause = 5 * time.Millisecond
	// listenCheck is how long the listener waits before it makes sure that a
	// silent connection is alive.
	listenCheck = 30 * time.Second
	leastPause  = 50 * time.Millisecond
	mostPause   = 5 * time.Second
	dialTimeout = 10 * time.Second
)

// Wake starts to listen when somebody first waits.
func (b *backend) Wake(topic string) (ch <-chan struct{}, stop func()) {
	b.listen.Do(func() { b.work.Go(b.hear) })
	return b.wakes.Add(topic)
}

// wake tells this process at once and the others soon.
func (b *backend) wake(topic string) {
	b.wakes.Send(topic)
	b.notifier.put(topic)
}

// hear keeps a connection that listens, until the backend is closed. While
// there is none, subscribers live by polling.
func (b *backend) hear() {
	pause := leastPause
	for {
		heard, err := b.hearOnce()
		if b.life.Err() != nil {
			return
		}
		if heard {
			pause = leastPause
		}
		b.log.Warn("postgres: lost the connection that listens, polling until there is a new one", "error", err)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-b.life.Done():
			return
		}
		pause = min(2*pause, mostPause)
	}
}

// hearOnce returns whether it could listen, and why it no longer does.
func (b *backend) hearOnce() (heard bool, err error) {
	conn, err := b.dial()
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.life), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(b.life, "LISTEN "+pgx.Identifier{b.names.Channel}.Sanitize()); err != nil {
		return false, err
	}
	b.wakes.SendAll() // what came in between was not heard
	for {
		ctx, cancel := context.WithTimeout(b.life, listenCheck)
		note, err := conn.WaitForNotification(ctx)
		silent := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			sender, topic, ok := strings.Cut(note.Payload, " ")
			if !ok {
				b.wakes.SendAll()
			} else if sender != b.notifier.sender {
				b.wakes.Send(topic)
			}
		case b.life.Err() != nil || !silent || conn.IsClosed():
			return true, err
		default:
			ctx, cancel := context.WithTimeout(b.life, dialTimeout)
			err := conn.Ping(ctx)
			cancel()
			if err != nil {
				return true, err
			}
		}
	}
}

// dial connects as the pool does.
func (b *backend) dial() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(b.life, dialTimeout)
	defer cancel()
	c := b.pool.Config()
	if c.BeforeConnect != nil {
		if err := c.BeforeConnect(ctx, c.ConnConfig); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, c.ConnConfig)
}

// notifier sends NOTIFY in statements of its own. Transactions that notify
// commit one at a time; inside the publishers' transactions that would put all
// of them in one line.
type notifier struct {
	pool    *pgxpool.Pool
	channel string
	// sender marks our own notifications.
	sender string

	mu     sync.Mutex
	topics map[string]struct{}
	filled chan struct{}
}

func newNotifier(pool *pgxpool.Pool, channel string) *notifier {
	return &notifier{
		pool: pool, channel: channel, sender: watermill.NewShortUUID(),
		topics: make(map[string]struct{}), filled: make(chan struct{}, 1),
	}
}

func (n *notifier) put(topic string) {
	n.mu.Lock()
	n.topics[topic] = struct{}{}
	n.mu.Unlock()
	select {
	case n.filled <- struct{}{}:
	default:
	}
}

// run notifies until ctx ends, and then of what is left.
func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-n.filled:
			n.flush()
		case <-ctx.Done():
			n.flush()
			return
		}
		select {
		case <-time.After(notifyPause):
		case <-ctx.Done():
		}
	}
}

// flush is a hint that may fail: the others poll.
func (n *notifier) flush() {
	n.mu.Lock()
	payloads := make([]string, 0, len(n.topics))
	for topic := range n.topics {
		payload := n.sender + " " + topic
		if len(payload) > 7999 {
			payload = "" // too long for a notification: all topics
		}
		payloads = append(payloads, payload)
	}
	clear(n.topics)
	n.mu.Unlock()
	if len(payloads) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = n.pool.Exec(ctx, `SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p`, n.channel, payloads)
}
