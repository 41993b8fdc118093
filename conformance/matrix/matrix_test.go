package matrix

import (
	"database/sql"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/internal/sqlitedb"
)

// skips are what a pair may leave out, by case, and why: exactly these.
type skips map[string]conformance.Need

// What pairs have not, and the cases that need it.
var (
	noRewind = skips{"DUP-11": conformance.NeedRewind} // a queue in a database has no positions
	// SQLite runs one writing transaction at a time.
	noWriters = skips{"RACE-04": conformance.NeedWriters, "RACE-06": conformance.NeedWriters, "RACE-07": conformance.NeedWriters,
		"LEASE-02": conformance.NeedWriters, "LEASE-03": conformance.NeedWriters, "LEASE-05": conformance.NeedWriters, "LEASE-06": conformance.NeedWriters}
	noRefuse = skips{"DLQ-16": conformance.NeedRefuse} // the store in memory knows no constraints
	// The queue in memory belongs to its process: nothing takes a message away.
	noLoss = skips{"LEASE-02": conformance.NeedLoss, "LEASE-03": conformance.NeedLoss, "LEASE-05": conformance.NeedLoss, "LEASE-06": conformance.NeedLoss}
	// Nor do strangers reach it.
	noStrangers = skips{"FOREIGN-01": conformance.NeedStrangers, "FOREIGN-02": conformance.NeedStrangers, "FOREIGN-03": conformance.NeedStrangers, "FOREIGN-04": conformance.NeedStrangers}
	noOutage    = skips{"RETRY-13": conformance.NeedOutage}
	noCuts      = skips{"RETRY-14": conformance.NeedDropConnections}
)

func TestMemory(t *testing.T) {
	t.Parallel()
	run(t, memoryHarness(), noRewind, noRefuse, noCuts, noLoss, noStrangers)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	run(t, sqliteHarness(), noRewind, noWriters, noCuts)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	run(t, postgresHarness(), noRewind, noOutage)
}

func TestKafka(t *testing.T) {
	t.Parallel()
	run(t, kafkaHarness(), noOutage)
}

func TestKafkaSQLite(t *testing.T) {
	t.Parallel()
	run(t, kafkaSQLiteHarness(), noWriters, noCuts)
}

func TestKafkaFake(t *testing.T) {
	t.Parallel()
	run(t, kafkaFakeHarness(), noRefuse, noOutage, noCuts)
}

func run(t *testing.T, h conformance.Harness, lacks ...skips) {
	t.Helper()
	want := skips{}
	for _, s := range lacks {
		maps.Copy(want, s)
	}
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
