package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/transports/internal/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// patience bounds every wait for something that must happen.
	patience = 15 * time.Second
	topic    = "orders"
	group    = "billing"
)

// newTransport returns a transport over a database of its own.
func newTransport(t testing.TB, change ...func(*Config)) *Transport {
	t.Helper()
	c := Config{DSN: testenv.Postgres(t)}
	for _, f := range change {
		f(&c)
	}
	tr, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// newQueue returns a backend whose topic has the group.
func newQueue(t testing.TB) *backend {
	t.Helper()
	b := newTransport(t).b
	if err := b.Register(t.Context(), topic, group); err != nil {
		t.Fatal(err)
	}
	return b
}

// slowly is a Config that no longer finds anything by polling within a test.
func slowly(c *Config) { c.PollInterval = time.Hour }

func msg(uuid, key string) queue.Message {
	m := queue.Message{UUID: uuid, Payload: []byte(uuid)}
	if key != "" {
		m.Envelope = idem.Envelope{Key: []byte(key)}
	}
	return m
}

func publish(t testing.TB, b *backend, msgs ...queue.Message) {
	t.Helper()
	if err := b.Publish(t.Context(), topic, msgs); err != nil {
		t.Fatal(err)
	}
}

func request(n int, ordered bool) queue.ClaimRequest {
	return queue.ClaimRequest{Topic: topic, Group: group, N: n, Lease: time.Minute, Ordered: ordered}
}

func claim(t testing.TB, b *backend, n int, ordered bool) []queue.Delivery {
	t.Helper()
	ds, err := b.Claim(t.Context(), request(n, ordered))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func ack(t testing.TB, b *backend, ds ...queue.Delivery) {
	t.Helper()
	leases := make([]queue.Lease, len(ds))
	for i, d := range ds {
		leases[i] = d.Lease
	}
	if err := b.Ack(t.Context(), leases...); err != nil {
		t.Fatal(err)
	}
}

func uuids(ds []queue.Delivery) []string {
	out := []string{}
	for _, d := range ds {
		out = append(out, d.UUID)
	}
	return out
}

// connect returns a connection as somebody else would have one.
func connect(t testing.TB, pool *pgxpool.Pool) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func exec(t testing.TB, conn interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until ok or the end of patience.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// subscribe returns the messages of the topic for a group.
func subscribe(t testing.TB, tr *Transport, c idem.SubscriberConfig) <-chan *message.Message {
	t.Helper()
	if c.Group == "" {
		c.Group = group
	}
	s, err := tr.Subscriber(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ch, err := s.Subscribe(context.WithoutCancel(t.Context()), topic)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group to be registered", func() bool {
		_, err := tr.b.group(t.Context(), topic, c.Group)
		return err == nil
	})
	return ch
}

// receive acks the next message and returns its UUID.
func receive(t testing.TB, ch <-chan *message.Message) string {
	t.Helper()
	select {
	case m := <-ch:
		m.Ack()
		return m.UUID
	case <-time.After(patience):
		t.Fatal("no message came")
		return ""
	}
}

// drained fails if anything unacknowledged is left.
func drained(t testing.TB, tr *Transport, group string) {
	t.Helper()
	eventually(t, "the queue to be empty", func() bool {
		n, _, err := tr.Depth(t.Context(), topic, group)
		return err == nil && n == 0
	})
}

func newMessage(uuid string) *message.Message { return message.NewMessage(uuid, []byte(uuid)) }
