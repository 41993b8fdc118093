package matrix

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/internal/sqlitedb"
)

// skips are what a pair may leave out, by case, and why: exactly these.
type skips map[string]conformance.Need

// Needs that a pair has not.
const (
	noRewind  = conformance.NeedRewind  // a queue in a database has no positions
	noWriters = conformance.NeedWriters // SQLite
)

func TestMemory(t *testing.T) {
	t.Parallel()
	run(t, memoryHarness(), skips{"DUP-11": noRewind})
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	run(t, sqliteHarness(), skips{"DUP-11": noRewind, "RACE-04": noWriters, "RACE-06": noWriters, "RACE-07": noWriters})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	run(t, postgresHarness(), skips{"DUP-11": noRewind})
}

func TestKafka(t *testing.T) {
	t.Parallel()
	run(t, kafkaHarness(), skips{})
}

func TestKafkaSQLite(t *testing.T) {
	t.Parallel()
	run(t, kafkaSQLiteHarness(), skips{"RACE-04": noWriters, "RACE-06": noWriters, "RACE-07": noWriters})
}

func TestKafkaFake(t *testing.T) {
	t.Parallel()
	run(t, kafkaFakeHarness(), skips{})
}

func run(t *testing.T, h conformance.Harness, want skips) {
	t.Helper()
	all := len(conformance.Cases())
	results := conformance.Run(t, h)
	if len(results) < all {
		return // the command line asks for some only
	}
	got := skips{}
	for _, r := range results {
		if r.Outcome == conformance.Skipped {
			got[r.ID] = r.Skipped
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skipped cases of %s (-want +got):\n%s", h.Name, diff)
	}
}

func openSQLite(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.Open(path)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}
