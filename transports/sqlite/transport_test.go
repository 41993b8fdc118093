package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/sqlitedb"
	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
)

func newTransport(t *testing.T, c Config) *Transport {
	t.Helper()
	tr, err := New(c)
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

func subscribe(t *testing.T, tr *Transport, c idem.SubscriberConfig) <-chan *message.Message {
	t.Helper()
	c.Group = "g"
	s, err := tr.Subscriber(c)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := s.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func next(t *testing.T, ch <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case msg, ok := <-ch:
		if !ok {
			t.Fatal("the channel is closed")
		}
		return msg
	case <-time.After(20 * time.Second):
		t.Fatal("no message within 20 s")
	}
	return nil
}

func waitForDepth(t *testing.T, tr *Transport, want int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		n, _, err := tr.Depth(t.Context(), "t", "g")
		if err == nil && n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("depth is %d, %v; want %d", n, err, want)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestWatermillSuite(t *testing.T) {
	tr := newTransport(t, Config{DB: openFile(t, filepath.Join(t.TempDir(), "queue.db"))})
	t.Run("suite", func(t *testing.T) {
		queuetest.Watermill(t, func(*testing.T) idem.Transport { return tr })
	})
}

func TestDatabaseInMemory(t *testing.T) {
	t.Parallel()
	db, err := Open(sqlitedb.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tr := newTransport(t, Config{DB: db})
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	begun := time.Now()
	if err := tr.Publisher().Publish("t", message.NewMessage("a", nil)); err != nil {
		t.Fatal(err)
	}
	next(t, ch).Ack()
	waitForDepth(t, tr, 0)
	t.Logf("published, delivered and acknowledged in %v", time.Since(begun))
}

func TestAcknowledgementRidesInTheHandlersTransaction(t *testing.T) {
	t.Parallel()
	db := openFile(t, filepath.Join(t.TempDir(), "shop.db"))
	tr := newTransport(t, Config{DB: db})
	if tr.Capabilities().Database == "" {
		t.Fatal("the transport does not say where its queue is")
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE effects (id TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := tr.Publisher().Publish("t", message.NewMessage("a", nil)); err != nil {
		t.Fatal(err)
	}
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	handle := func(msg *message.Message, commit bool) {
		t.Helper()
		err := inTx(t.Context(), db, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO effects VALUES (?)", msg.UUID); err != nil {
				return err
			}
			// A read beside the transaction does not deadlock.
			if err := tr.Ping(t.Context()); err != nil {
				return err
			}
			d, _ := idem.DeliveryFrom(msg.Context())
			if err := d.AckTx(t.Context(), tx); err != nil {
				return err
			}
			if !commit {
				return context.Canceled
			}
			return nil
		})
		if (err == nil) != commit {
			t.Fatal(err)
		}
	}
	msg := next(t, ch)
	handle(msg, false)
	msg.Nack()
	msg = next(t, ch)
	handle(msg, true)
	waitForDepth(t, tr, 0)
	msg.Ack()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM effects").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d effects, %v; want 1", n, err)
	}
}

func TestPublishInsideATransaction(t *testing.T) {
	t.Parallel()
	db := openFile(t, filepath.Join(t.TempDir(), "queue.db"))
	tr := newTransport(t, Config{DB: db})
	ch := subscribe(t, tr, idem.SubscriberConfig{})
	for _, name := range []string{"rolled back", "committed"} {
		err := inTx(t.Context(), db, func(tx *sql.Tx) error {
			if err := tr.PublishTx(t.Context(), tx, "t", message.NewMessage(name, nil)); err != nil {
				t.Fatal(err)
			}
			if name == "rolled back" {
				return context.Canceled
			}
			return tr.PublishTx(t.Context(), tx, "t")
		})
		if (err == nil) != (name == "committed") {
			t.Fatal(err)
		}
	}
	msg := next(t, ch)
	if msg.UUID != "committed" {
		t.Errorf("got %s", msg.UUID)
	}
	msg.Ack()
	waitForDepth(t, tr, 0)
}

func TestManyProcessesMayStartAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queue.db")
	var work sync.WaitGroup
	for range 6 {
		work.Go(func() {
			db, err := sqlitedb.OpenWith(path, sqlitedb.Options{Normal: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			b, err := newBackend(t.Context(), db, "idem_")
			if err != nil {
				t.Error(err)
				return
			}
			b.Close()
		})
	}
	work.Wait()
}

func TestTablesOfANewerProgramAreRefused(t *testing.T) {
	t.Parallel()
	db := openFile(t, filepath.Join(t.TempDir(), "queue.db"))
	newTransport(t, Config{DB: db})
	if _, err := db.ExecContext(t.Context(), "INSERT INTO idem_queue_version VALUES (999)"); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{DB: db}); err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("got %v, want an error that names the version", err)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	_, err := New(Config{TablePrefix: "x; DROP", Lease: -1})
	for _, field := range []string{"DB", "TablePrefix", "Lease"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	db := openFile(t, filepath.Join(t.TempDir(), "queue.db"))
	b, err := newBackend(t.Context(), db, "idem_")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range statements {
		if query == fillGroup || query == ping {
			continue
		}
		args := make([]any, strings.Count(query, "?"))
		plan, err := planOf(t.Context(), db, b.sql(query), args)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, step := range plan {
			tableScan := strings.HasPrefix(step, "SCAN") && step != "SCAN d" && !strings.Contains(step, "CONSTANT")
			if tableScan || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s\nplan: %q", query, plan)
			}
		}
	}
}

func planOf(ctx context.Context, db *sql.DB, query string, args []any) (plan []string, err error) {
	rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return nil, err
		}
		plan = append(plan, detail)
	}
	return plan, rows.Err()
}

// childEnv makes the test binary another process on the database it names.
const childEnv = "IDEM_TEST_SQLITE_CHILD"

// TestChild claims a message and hangs, when it is the other process.
func TestChild(t *testing.T) {
	path := os.Getenv(childEnv)
	if path == "" {
		t.Skip("run by TestAKilledProcessesMessageComesBack")
	}
	b, err := newBackend(t.Context(), openFile(t, path), "idem_")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "t", []queue.Message{{UUID: "from the child"}}); err != nil {
		t.Fatal(err)
	}
	ds, err := b.Claim(t.Context(), queue.ClaimRequest{Topic: "t", Group: "g", N: 1, Lease: time.Second})
	if err != nil || len(ds) != 1 {
		t.Fatal(ds, err)
	}
	fmt.Println("claimed", ds[0].UUID)
	<-t.Context().Done() // until killed
}

func TestAKilledProcessesMessageComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queue.db")
	tr := newTransport(t, Config{DB: openFile(t, path)})
	if err := tr.b.Register(t.Context(), "t", "g"); err != nil {
		t.Fatal(err)
	}
	if err := tr.Publisher().Publish("t", message.NewMessage("from the parent", nil)); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childEnv+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "claimed from the parent" {
		t.Fatalf("the child said %q", lines.Text())
	}
	killed := time.Now()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // says that it was killed

	ch := subscribe(t, tr, idem.SubscriberConfig{})
	for _, want := range []struct {
		name    string
		attempt int
	}{{"from the child", 1}, {"from the parent", 2}} {
		msg := next(t, ch)
		d, _ := idem.DeliveryFrom(msg.Context())
		if msg.UUID != want.name || d.Attempt != want.attempt {
			t.Errorf("got attempt %d of %q, want %d of %q", d.Attempt, msg.UUID, want.attempt, want.name)
		}
		msg.Ack()
	}
	t.Logf("back %v after the kill", time.Since(killed))
	waitForDepth(t, tr, 0)
}

func TestHeadersKeepEveryByte(t *testing.T) {
	t.Parallel()
	headers := []idem.Header{{Name: "a\x00\xff", Value: []byte{0, 255}}, {Name: "", Value: nil}, {Name: "a", Value: make([]byte, 300)}}
	b := encodeHeaders(headers)
	got, err := decodeHeaders(b)
	if err != nil || len(got) != 3 || got[0].Name != "a\x00\xff" || string(got[0].Value) != "\x00\xff" || len(got[2].Value) != 300 {
		t.Errorf("got %q, %v", got, err)
	}
	if encodeHeaders(nil) != nil {
		t.Error("no headers are not NULL")
	}
	for n := 1; n < len(b); n++ { // a damaged column is an error, not a panic
		if got, err := decodeHeaders(b[:n]); err == nil && len(got) >= 3 {
			t.Errorf("the first %d of %d bytes decoded to %q", n, len(b), got)
		}
	}
}
