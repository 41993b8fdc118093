package postgres

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

// Transactions commit in another order than they wrote: nothing is skipped,
// nothing comes twice, and nobody waits for an open transaction.
func TestTransactionsCommitOutOfOrder(t *testing.T) {
	t.Parallel()
	for _, cache := range []int{1, 50} {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("sequence cache %d, first commits %v", cache, commits), func(t *testing.T) {
				t.Parallel()
				tr := newTransport(t)
				exec(t, tr.b.pool, `ALTER TABLE `+tr.b.names.Messages+` ALTER COLUMN id SET CACHE `+strconv.Itoa(cache))
				ch := subscribe(t, tr, idem.SubscriberConfig{})
				first, second := begin(t, tr.b), begin(t, tr.b)
				if err := tr.PublishTx(t.Context(), first, topic, newMessage("m1")); err != nil {
					t.Fatal(err)
				}
				if err := tr.PublishTx(t.Context(), second, topic, newMessage("m2")); err != nil {
					t.Fatal(err)
				}
				commit(t, second)
				if got := receive(t, ch); got != "m2" {
					t.Fatalf("got %s, want m2", got)
				}
				if commits {
					commit(t, first)
					if got := receive(t, ch); got != "m1" {
						t.Fatalf("got %s, want m1", got)
					}
				} else if err := first.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
				// Whatever would come twice or wrongly comes before this one.
				if err := tr.Publisher().Publish(topic, newMessage("last")); err != nil {
					t.Fatal(err)
				}
				if got := receive(t, ch); got != "last" {
					t.Errorf("got %s, want last", got)
				}
				drained(t, tr, group)
			})
		}
	}
}

// A transaction of somebody else that has written and stays open holds nothing up.
func TestOpenTransactionDelaysNobody(t *testing.T) {
	t.Parallel()
	tr := newTransport(t)
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	exec(t, tr.b.pool, `CREATE TABLE business (id int)`)
	open := begin(t, tr.b)
	exec(t, open, `INSERT INTO business VALUES (1)`)
	for i := range 5 {
		want := fmt.Sprint("m", i)
		if err := tr.Publisher().Publish(topic, newMessage(want)); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, ch); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	drained(t, tr, group)
	commit(t, open)
}

// Watermill-sql's own publisher is a publisher of this queue, in a
// transaction too, and what it sends arrives byte for byte.
func TestWatermillSQLPublishes(t *testing.T) {
	t.Parallel()
	tr := newTransport(t)
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	db, err := sql.Open("pgx", tr.b.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	pgxTx := begin(t, tr.b)
	sqlTx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name   string
		db     wsql.ContextExecutor
		commit func() error
	}{
		{"pgx", wsql.BeginnerFromPgx(tr.b.pool), nil},
		{"pgx transaction", wsql.TxFromPgx(pgxTx), func() error { return pgxTx.Commit(t.Context()) }},
		{"database/sql", wsql.BeginnerFromStdSQL(db), nil},
		{"database/sql transaction", wsql.TxFromStdSQL(sqlTx), sqlTx.Commit},
	} {
		p, err := wsql.NewPublisher(c.db, wsql.PublisherConfig{SchemaAdapter: tr.Schema()}, watermill.NopLogger{})
		if err != nil {
			t.Fatal(err)
		}
		plain := message.NewMessage(`a"b\c'{},é`, []byte{0, 1, '"', '\\', 255})
		plain.Metadata = message.Metadata{"name": `va"l\ue`, "other": "", idem.MetadataKey: "key-1"}
		empty := message.NewMessage("empty", []byte{})
		null := message.NewMessage("null", nil)
		if err := p.Publish(topic, plain, empty, null); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.commit != nil {
			if err := c.commit(); err != nil {
				t.Fatal(err)
			}
			tr.Wake(topic)
		}
		for _, want := range []*message.Message{plain, empty, null} {
			got := <-ch
			got.Ack()
			d, _ := idem.DeliveryFrom(got.Context())
			if diff := cmp.Diff([]any{want.UUID, want.Payload, idem.EnvelopeOf(want)}, []any{got.UUID, got.Payload, d.Envelope}); diff != "" {
				t.Errorf("%s (-sent +received):\n%s", c.name, diff)
			}
		}
	}
	if _, err := tr.Schema().SelectQuery(wsql.SelectQueryParams{Topic: topic}); err == nil {
		t.Error("the schema pretends that watermill-sql could subscribe")
	}
}

// Whoever inserts a row publishes, and finds defaults for the rest.
func TestPlainInsertPublishes(t *testing.T) {
	t.Parallel()
	tr := newTransport(t)
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	exec(t, tr.b.pool, `INSERT INTO `+tr.b.names.Messages+` (topic, payload, headers) VALUES ($1, 'text', '{trace,abc}')`, topic)
	m := <-ch
	m.Ack()
	if string(m.Payload) != "text" || m.Metadata["trace"] != "abc" || m.UUID == "" {
		t.Errorf("got %q %v %q", m.Payload, m.Metadata, m.UUID)
	}
}

func TestPublishOfHundredThousand(t *testing.T) {
	t.Parallel()
	tr := newTransport(t)
	if err := tr.b.Register(t.Context(), topic, group); err != nil {
		t.Fatal(err)
	}
	msgs := make([]*message.Message, 100_000)
	for i := range msgs {
		msgs[i] = newMessage(strconv.Itoa(i))
	}
	if err := tr.Publisher().Publish(topic, msgs...); err != nil {
		t.Fatal(err)
	}
	if n, _, err := tr.Depth(t.Context(), topic, group); err != nil || n != len(msgs) {
		t.Errorf("depth is %d, %v", n, err)
	}
	// More leases than a statement may have parameters; those after the first
	// are of nobody.
	ds := claim(t, tr.b, 1, false)
	if len(ds) != 1 || ds[0].UUID != "0" {
		t.Fatalf("claimed %v, want the oldest", uuids(ds))
	}
	ack(t, tr.b, append(ds, make([]queue.Delivery, 70_000)...)...)
	if n, _, err := tr.Depth(t.Context(), topic, group); err != nil || n != len(msgs)-1 {
		t.Errorf("depth is %d, %v after the ack", n, err)
	}
}

// A group that registers while a publisher's transaction is open gets its
// messages, and holds up no other publisher meanwhile. An old snapshot either
// publishes to the new group or fails with a serialization error.
func TestRegisterDuringTransactions(t *testing.T) {
	t.Parallel()
	b := newTransport(t).b
	conn := connect(t, b.pool)
	old, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, old, `SELECT 1`)
	open := begin(t, b)
	insert(t, open, b, msg("open", ""))

	registered := make(chan error, 1)
	go func() { registered <- b.Register(t.Context(), topic, group) }()
	for i := range 20 {
		publish(t, b, msg(fmt.Sprint("meanwhile", i), ""))
	}
	select {
	case err := <-registered:
		t.Fatalf("registered (%v) while a publisher's transaction is open: its message can be missed", err)
	default:
	}
	commit(t, open)
	if err := <-registered; err != nil {
		t.Fatal(err)
	}
	if ds := claim(t, b, 100, false); len(ds) != 21 {
		t.Errorf("the group has %v, want the open transaction's and 20 more", uuids(ds))
	}

	refused(t, b, old)

	// The same when an older registration is visible.
	newer, err := connect(t, b.pool).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, newer, `SELECT 1`)
	if err := b.Register(t.Context(), topic, "another"); err != nil {
		t.Fatal(err)
	}
	refused(t, b, newer)
}

// refused fails unless tx cannot publish for its snapshot being too old.
func refused(t *testing.T, b *backend, tx pgx.Tx) {
	t.Helper()
	_, err := tx.Exec(t.Context(), b.sql.insert, b.inserts(topic, []queue.Message{msg("old", "")})[0]...)
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "40001" {
		t.Errorf("a publisher that cannot see the group got %v, want a serialization error", err)
	}
}

// A snapshot that is new enough publishes like any other.
func TestRepeatableReadPublishes(t *testing.T) {
	t.Parallel()
	b := newQueue(t)
	for i := range 2 {
		tx, err := connect(t, b.pool).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		insert(t, tx, b, msg(fmt.Sprint("m", i), ""))
		commit(t, tx)
	}
	if ds := claim(t, b, 10, false); len(ds) != 2 {
		t.Errorf("claimed %v, want both", uuids(ds))
	}
}

func TestTwoGroupsEachGetEverything(t *testing.T) {
	t.Parallel()
	tr := newTransport(t)
	first := subscribe(t, tr, idem.SubscriberConfig{Group: "first", Concurrency: 4})
	second := subscribe(t, tr, idem.SubscriberConfig{Group: "second", Concurrency: 4})
	const n = 50
	for i := range n {
		if err := tr.Publisher().Publish(topic, newMessage(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	for name, ch := range map[string]<-chan *message.Message{"first": first, "second": second} {
		seen := map[string]bool{}
		for range n {
			seen[receive(t, ch)] = true
		}
		if len(seen) != n {
			t.Errorf("group %s got %d different messages of %d", name, len(seen), n)
		}
		drained(t, tr, name)
	}
}
