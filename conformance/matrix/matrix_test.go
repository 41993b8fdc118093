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

func TestMemory(t *testing.T) {
	t.Parallel()
	run(t, memoryHarness(), skips{})
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	run(t, sqliteHarness(), skips{})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	run(t, postgresHarness(), skips{})
}

func TestKafka(t *testing.T) {
	t.Parallel()
	run(t, kafkaHarness("kafka+postgres", realKafka), skips{})
}

func TestKafkaSQLite(t *testing.T) {
	t.Parallel()
	run(t, kafkaSQLiteHarness("kafka+sqlite", realKafka), skips{})
}

func TestKafkaFake(t *testing.T) {
	t.Parallel()
	run(t, kafkaSQLiteHarness("kfake+sqlite", fakeKafka), skips{})
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
