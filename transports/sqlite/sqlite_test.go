package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/internal/sqlitedb"
	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openFile opens a database that need not survive a loss of power.
func openFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.OpenWith(path, sqlitedb.Options{Normal: true})
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

// testBackend lets the suite begin transactions.
type testBackend struct{ *backend }

func (b testBackend) SingleWriter() bool { return true }

func (b testBackend) Begin(t *testing.T) (any, func(bool) error) {
	t.Helper()
	tx, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx, func(commit bool) error {
		if commit {
			return tx.Commit()
		}
		return tx.Rollback()
	}
}

func TestBackend(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queue.Backend {
		b, err := newBackend(t.Context(), openFile(t, filepath.Join(t.TempDir(), "queue.db")), "test_")
		if err != nil {
			t.Fatal(err)
		}
		return testBackend{b}
	})
}
