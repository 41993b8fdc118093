package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string, o Options) *sql.DB {
	t.Helper()
	db, err := OpenWith(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestOpenAppliesItsSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "odd name #1?%41.db")
	for _, c := range []struct {
		path, pragma, want string
		o                  Options
	}{
		{file, "journal_mode", "wal", Options{}},
		{file, "synchronous", "2", Options{}},
		{file, "synchronous", "1", Options{Normal: true}},
		{file, "foreign_keys", "1", Options{}},
		{file, "busy_timeout", "10000", Options{}},
		{file, "busy_timeout", "700", Options{BusyTimeout: 700 * time.Millisecond}},
		{Memory, "foreign_keys", "1", Options{}},
	} {
		var got string
		if err := open(t, c.path, c.o).QueryRow("PRAGMA " + c.pragma).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s of %q is %q, %v; want %q", c.pragma, c.path, got, err, c.want)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file has another name: %v", err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing", "x.db")
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Open returned %v, want an error that names %s", err, path)
	}
}

func TestIdentityIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "a.db"), link); err != nil {
		t.Fatal(err)
	}
	id := func(path string) string {
		t.Helper()
		id, err := Identity(t.Context(), open(t, path, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a, again, b := id(filepath.Join(dir, "a.db")), id(link), id(filepath.Join(dir, "b.db"))
	if a != again {
		t.Errorf("the same file is %q and %q", a, again)
	}
	if a == b {
		t.Errorf("two files are both %q", a)
	}
	if m, n := id(Memory), id(Memory); m == n {
		t.Errorf("two databases in memory are both %q", m)
	}
}

func TestMemoryIsOneDatabase(t *testing.T) {
	t.Parallel()
	db := open(t, Memory, Options{})
	exec(t, db, "CREATE TABLE t (x)")
	for range 20 {
		exec(t, db, "INSERT INTO t VALUES (1)")
	}
}

func TestTransactionsTakeTurns(t *testing.T) {
	t.Parallel()
	// No patience for other processes: without turns, somebody would fail.
	db := open(t, filepath.Join(t.TempDir(), "x.db"), Options{Normal: true, BusyTimeout: time.Millisecond})
	exec(t, db, "CREATE TABLE t (n INTEGER)")
	exec(t, db, "INSERT INTO t VALUES (0)")
	const writers, each = 8, 25
	var work sync.WaitGroup
	for range writers {
		work.Go(func() {
			for range each {
				if err := increment(t.Context(), db); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	var n int
	if err := db.QueryRow("SELECT n FROM t").Scan(&n); err != nil || n != writers*each {
		t.Errorf("counted %d, %v; want %d", n, err, writers*each)
	}
}

func increment(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT n FROM t").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE t SET n = ?", n+1); err != nil {
		return err
	}
	return tx.Commit()
}

func TestReadsDoNotWaitForAnOpenTransaction(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	exec(t, db, "CREATE TABLE t (x)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	exec(t, tx, "INSERT INTO t VALUES (1)")
	read, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Rollback()
	for _, q := range []interface {
		QueryRow(string, ...any) *sql.Row
	}{db, read} {
		var n int
		if err := q.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != 0 {
			t.Errorf("read %d rows, %v; want none of the open transaction", n, err)
		}
	}
}

func TestWaitingForATurnEnds(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), Options{TurnTimeout: 30 * time.Millisecond})
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.BeginTx(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "inside another") {
		t.Errorf("a second transaction got %v, want an error that explains", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := db.BeginTx(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	// However a transaction ends, the next one gets its turn.
	for _, end := range []func(context.CancelFunc, *sql.Tx) error{
		func(_ context.CancelFunc, tx *sql.Tx) error { return tx.Commit() },
		func(_ context.CancelFunc, tx *sql.Tx) error { return tx.Rollback() },
		func(cancel context.CancelFunc, tx *sql.Tx) error { cancel(); return nil },
		func(cancel context.CancelFunc, tx *sql.Tx) error {
			cancel()
			_ = tx.Commit() // its context has ended
			return nil
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := end(cancel, tx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func TestPoolsOfOneFileWaitForEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	a, b := open(t, path, Options{}), open(t, path, Options{})
	exec(t, a, "CREATE TABLE t (n INTEGER)")
	exec(t, a, "INSERT INTO t VALUES (0)")
	var work sync.WaitGroup
	for _, db := range []*sql.DB{a, b} {
		work.Go(func() {
			for range 25 {
				if err := increment(t.Context(), db); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	var n int
	if err := b.QueryRow("SELECT n FROM t").Scan(&n); err != nil || n != 50 {
		t.Errorf("counted %d, %v; want 50", n, err)
	}
}
