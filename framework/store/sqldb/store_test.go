package sqldb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/framework/store/storetest"
	"github.com/idem-go/idem/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.OpenWith(path, sqlitedb.Options{Normal: true, BusyTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newStore(t testing.TB, db *sql.DB, path string) *sqldb.Store {
	t.Helper()
	s, err := sqldb.New(sqldb.Config{DB: db, Identity: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSQLite(t *testing.T) {
	var dbs sync.Map // idem.Store → *sql.DB
	open := func(t *testing.T, path string) idem.Store {
		db := openDB(t, path)
		s := newStore(t, db, path)
		dbs.Store(s, db)
		return s
	}
	dbOf := func(s idem.Store) *sql.DB { db, _ := dbs.Load(s); return db.(*sql.DB) }
	storetest.Run(t,
		func(t *testing.T) idem.Store {
			s := open(t, filepath.Join(t.TempDir(), "idem.db"))
			if _, err := dbOf(s).Exec("CREATE TABLE effects (id TEXT)"); err != nil {
				t.Fatal(err)
			}
			return s
		},
		storetest.Options{
			SingleWriter: true,
			Second:       func(t *testing.T, first idem.Store) idem.Store { return open(t, first.Database()) },
			Effect: func(ctx context.Context, tx idem.Tx, id string) error {
				_, err := tx.Native().(*sql.Tx).ExecContext(ctx, "INSERT INTO effects VALUES (?)", id)
				return err
			},
			Count: func(t *testing.T, s idem.Store, id string) (n int) {
				if err := dbOf(s).QueryRow("SELECT count(*) FROM effects WHERE id = ?", id).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			},
			BreakCommit: func(_ *testing.T, s idem.Store, applied bool) { s.(*sqldb.Store).BreakNextCommit(applied) },
		})
}
