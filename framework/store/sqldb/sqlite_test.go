package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/sqldb"
)

func claim(key string) idem.Claim {
	return idem.Claim{Consumer: "shop", Key: key, Token: "t1", Retention: time.Hour}
}

func fresh(t testing.TB) (*sqldb.Store, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "idem.db")
	db := openDB(t, path)
	s := newStore(t, db, path)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "CREATE TABLE effects (id TEXT)")
	return s, db
}

func exec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func class(err error) idem.Class { return idem.Classifier{}.Classify(err) }

// handle processes one message with a handler, as an application does.
func handle(t *testing.T, s idem.Store, h func(context.Context) error) error {
	t.Helper()
	e, err := idem.NewEngine(s, nil, idem.Classifier{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	op := idem.Operation{Name: "shop", Topic: "orders", Key: idem.KeyRecipe{Parts: []idem.KeyPart{{Header: "id"}}}}
	c, err := idem.NewConsumer(e, op, idem.HandlerFunc[map[string]any](func(ctx context.Context, _ idem.Message[map[string]any]) error { return h(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	msg := message.NewMessage("m", []byte("{}"))
	msg.Metadata.Set("id", "k")
	return c.Process(msg)
}

func TestTxFrom(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	err := handle(t, s, func(ctx context.Context) error {
		_, err := sqldb.TxFrom(ctx).ExecContext(ctx, "INSERT INTO effects VALUES ('k')")
		return err
	})
	if n := count(t, db, "SELECT count(*) FROM effects"); err != nil || n != 1 {
		t.Fatalf("%d effects, %v", n, err)
	}
	defer func() {
		if r, _ := recover().(string); !strings.Contains(r, "outside a handler") {
			t.Fatalf("recovered %q", r)
		}
	}()
	sqldb.TxFrom(t.Context())
}

// A transaction begun by a handler would wait for the handler's own: it is
// refused at once, while reads go on.
func TestNestedTransactionIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	err := handle(t, s, func(ctx context.Context) error {
		for what, err := range map[string]error{
			"Do":        s.Do(ctx, func(idem.Tx) error { return nil }),
			"Migrate":   s.Migrate(ctx),
			"Published": s.Published(ctx, idem.OutboxRow{}),
		} {
			if class(err) != idem.ClassBug || !strings.Contains(err.Error(), "TxFrom") {
				t.Errorf("%s in a handler returned %v", what, err)
			}
		}
		if _, err := s.LeaseOutbox(ctx, 1, time.Second); class(err) != idem.ClassBug {
			t.Errorf("LeaseOutbox in a handler returned %v", err)
		}
		if _, err := s.Sweep(ctx, 1); class(err) != idem.ClassBug {
			t.Errorf("Sweep in a handler returned %v", err)
		}
		_, err := s.ListDeadLetters(ctx, idem.DeadLetterQuery{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := fresh(t)
	if err := handle(t, s2(t), func(ctx context.Context) error { return other.Do(ctx, func(idem.Tx) error { return nil }) }); err != nil {
		t.Fatalf("a transaction of another store: %v", err)
	}
}

func s2(t *testing.T) *sqldb.Store { s, _ := fresh(t); return s }

func TestReadsAreRefusedWhereTheyWouldWait(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	db.SetMaxOpenConns(1)
	_ = handle(t, s, func(ctx context.Context) error {
		_, errGet := s.GetDeadLetter(ctx, "x")
		_, errList := s.ListDeadLetters(ctx, idem.DeadLetterQuery{})
		_, _, errCount := s.CountDeadLetters(ctx)
		_, _, errDepth := s.OutboxDepth(ctx)
		for what, err := range map[string]error{"get": errGet, "list": errList, "count": errCount, "depth": errDepth, "ping": s.Ping(ctx)} {
			if class(err) != idem.ClassBug {
				t.Errorf("%s in a handler returned %v", what, err)
			}
		}
		return nil
	})
}

// An interrupted statement makes SQLite roll back the whole transaction and go
// on outside any. A handler that swallows its error must not get its mark.
func TestDissolvedTransactionDoesNotCommit(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	exec(t, db, "CREATE TABLE numbers (n INTEGER)")
	dissolve := func(ctx context.Context) {
		tx := sqldb.TxFrom(ctx)
		if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ('before')"); err != nil {
			t.Error(err)
		}
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := tx.ExecContext(short, "INSERT INTO numbers WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 1e9) SELECT n FROM r")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("endless statement returned %v", err)
		}
	}
	for what, after := range map[string]func(context.Context) error{
		"nothing": func(context.Context) error { return nil },
		"emit":    func(ctx context.Context) error { return idem.Emit(ctx, idem.Event{Topic: "orders"}) },
	} {
		err := handle(t, s, func(ctx context.Context) error { dissolve(ctx); return after(ctx) })
		if class(err) != idem.ClassBug || errors.Is(err, idem.ErrUnknownCommit) {
			t.Errorf("%s after it: error %v (%s), want a bug", what, err, class(err))
		}
	}
	err := s.Do(t.Context(), func(tx idem.Tx) error { // without any write of the engine after it
		_, err := tx.Native().(*sql.Tx).Exec("ROLLBACK")
		return err
	})
	if class(err) != idem.ClassBug || errors.Is(err, idem.ErrUnknownCommit) {
		t.Errorf("error %v, want a bug", err)
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM effects) + (SELECT count(*) FROM idem_inbox) + (SELECT count(*) FROM idem_outbox)"); n != 0 {
		t.Errorf("%d rows were left behind", n)
	}
	if err := handle(t, s, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next message failed: %v", err)
	}
}

// database/sql would end the transaction as soon as its context ends, behind
// the back of a handler that works with another context.
func TestTransactionDoesNotFollowTheContext(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Do(ctx, func(tx idem.Tx) error {
		cancel()
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
			if _, err := tx.Native().(*sql.Tx).ExecContext(t.Context(), "INSERT INTO effects VALUES ('k')"); err != nil {
				t.Errorf("the transaction ended early: %v", err)
				return err
			}
		}
		return nil
	})
	if n := count(t, db, "SELECT count(*) FROM effects"); n != 0 || !errors.Is(err, context.Canceled) {
		t.Fatalf("%d effects, %v", n, err)
	}
}

func TestHandlerEndsTheTransaction(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	for what, end := range map[string]func(*sql.Tx) error{"commit": (*sql.Tx).Commit, "rollback": (*sql.Tx).Rollback} {
		err := handle(t, s, func(ctx context.Context) error { return end(sqldb.TxFrom(ctx)) })
		if class(err) != idem.ClassBug || !strings.Contains(err.Error(), "Commit or Rollback") {
			t.Errorf("%s by the handler: %v", what, err)
		}
	}
}

// A deferred constraint strikes at COMMIT. It is the message's fault and its
// outcome is known.
func TestConstraintAtCommit(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	exec(t, db, "CREATE TABLE parent (id INTEGER PRIMARY KEY)")
	exec(t, db, "CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
	err := handle(t, s, func(ctx context.Context) error {
		_, err := sqldb.TxFrom(ctx).ExecContext(ctx, "INSERT INTO child VALUES (1)")
		return err
	})
	if class(err) != idem.ClassPermanent || !errors.Is(err, idem.ErrStore) || errors.Is(err, idem.ErrUnknownCommit) {
		t.Fatalf("error %v (%s), want a permanent one with known outcome", err, class(err))
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM child) + (SELECT count(*) FROM idem_inbox)"); n != 0 {
		t.Fatalf("%d rows were left behind", n)
	}
}

// A writer of another process that stays too long is not the message's fault.
func TestBusy(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	foreign, err := openDB(t, s.Database()).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Rollback()
	err = s.Do(t.Context(), func(idem.Tx) error { t.Error("ran"); return nil })
	if !errors.Is(err, idem.ErrStore) || class(err) != idem.ClassUnavailable || errors.Is(err, idem.ErrUnknownCommit) {
		t.Fatalf("error %v (%s)", err, class(err))
	}
}

func TestWaitForTheWriterEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	holding, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.Do(context.Background(), func(idem.Tx) error { close(holding); <-release; return nil })
	}()
	<-holding
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, idem.ErrLeaseLost)
	defer cancel()
	err := s.Do(ctx, func(idem.Tx) error { t.Error("ran"); return nil })
	if !errors.Is(err, idem.ErrStore) || !errors.Is(err, idem.ErrLeaseLost) {
		t.Errorf("error %v, want ErrStore and the context's cause", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Every call says ErrStore when the database is gone or has no tables.
func TestUnusableDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "idem.db")
	empty := newStore(t, openDB(t, path), path)
	gone, db := fresh(t)
	_ = db.Close()
	for what, s := range map[string]*sqldb.Store{"no tables": empty, "closed": gone} {
		ctx, d := t.Context(), claim("k")
		do := func(f func(idem.Tx) error) error { return s.Do(ctx, f) }
		_, errLease := s.LeaseOutbox(ctx, 1, time.Second)
		_, _, errDepth := s.OutboxDepth(ctx)
		_, errGet := s.GetDeadLetter(ctx, "x")
		_, errList := s.ListDeadLetters(ctx, idem.DeadLetterQuery{})
		_, errPage := s.ListDeadLetters(ctx, idem.DeadLetterQuery{After: "x"})
		_, _, errCount := s.CountDeadLetters(ctx)
		_, errSweep := s.Sweep(ctx, 10)
		for call, err := range map[string]error{
			"claim":     do(func(tx idem.Tx) error { _, err := tx.Claim(ctx, d); return err }),
			"save":      do(func(tx idem.Tx) error { return tx.Save(ctx, d, idem.Update{}) }),
			"emit":      do(func(tx idem.Tx) error { return tx.Emit(ctx, idem.Outgoing{ID: "o"}) }),
			"park":      do(func(tx idem.Tx) error { _, err := tx.Park(ctx, idem.DeadLetter{ID: "d"}); return err }),
			"move":      do(func(tx idem.Tx) error { _, err := s.MoveDeadLetter(ctx, tx, "d", idem.DeadLetterReplayed); return err }),
			"published": s.Published(ctx, idem.OutboxRow{Seq: 1}), "postponed": s.Postponed(ctx, 0, idem.OutboxRow{Seq: 1}),
			"lease": errLease, "depth": errDepth, "get": errGet, "list": errList, "page": errPage, "count": errCount, "sweep": errSweep,
		} {
			if !errors.Is(err, idem.ErrStore) || errors.Is(err, idem.ErrNotFound) {
				t.Errorf("%s: %s returned %v, want ErrStore", what, call, err)
			}
		}
	}
	if err := gone.Ping(t.Context()); !errors.Is(err, idem.ErrStore) {
		t.Errorf("ping of a closed database returned %v", err)
	}
	if err := gone.Migrate(t.Context()); !errors.Is(err, idem.ErrStore) {
		t.Errorf("migration of a closed database returned %v", err)
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	other, _ := fresh(t)
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		if err := tx.Save(t.Context(), claim("never claimed"), idem.Update{Status: idem.StatusDone}); err == nil {
			t.Error("Save of a key that was not claimed succeeded")
		}
		_, err := other.MoveDeadLetter(t.Context(), tx, "x", idem.DeadLetterReplayed)
		return err
	})
	if class(err) != idem.ClassBug {
		t.Errorf("a transaction of another store: %v", err)
	}
	if _, err := s.ListDeadLetters(t.Context(), idem.DeadLetterQuery{After: "no such id"}); !errors.Is(err, idem.ErrNotFound) {
		t.Errorf("a page after an unknown id: %v", err)
	}
}
