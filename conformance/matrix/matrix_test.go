package matrix

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/internal/sqlitedb"
)

// skips are what a pair may leave out, by case, and why: exactly these.
type skips map[string]conformance.Need

// What pairs have not, and the cases that need it.
var (
	noRewind = lacking(conformance.NeedRewind, "DUP-11") // a queue in a database has no positions
	// SQLite runs one writing transaction at a time.
	noWriters = lacking(conformance.NeedWriters, "RACE-04", "RACE-06", "RACE-07", "ORDER-08", "FLOW-12",
		"LEASE-02", "LEASE-03", "LEASE-05", "LEASE-06", "LEASE-08", "LEASE-09")
	noRefuse = lacking(conformance.NeedRefuse, "DLQ-16") // the store in memory knows no constraints
	// The queue in memory belongs to its process: nothing takes a message away.
	noLoss = lacking(conformance.NeedLoss, "LEASE-02", "LEASE-03", "LEASE-05", "LEASE-06", "LEASE-07")
	// Nor do strangers reach it.
	noStrangers = lacking(conformance.NeedStrangers, "FOREIGN-01", "FOREIGN-02", "FOREIGN-03", "FOREIGN-04")
	noLeases    = lacking(conformance.NeedExpireLeases, "LEASE-09") // Kafka has sessions
	noOutage    = lacking(conformance.NeedOutage, "RETRY-13")
	noCuts      = lacking(conformance.NeedDropConnections, "RETRY-14")
)

func lacking(n conformance.Need, ids ...string) skips {
	s := skips{}
	for _, id := range ids {
		s[id] = n
	}
	return s
}

func TestMemory(t *testing.T) {
	t.Parallel()
	run(t, memoryHarness(), noRewind, noRefuse, noCuts, noLeases, noLoss, noStrangers)
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
	run(t, kafkaHarness(), noOutage, noLeases)
}

func TestKafkaSQLite(t *testing.T) {
	t.Parallel()
	run(t, kafkaSQLiteHarness(), noWriters, noCuts, noLeases)
}

func TestKafkaFake(t *testing.T) {
	t.Parallel()
	run(t, kafkaFakeHarness(), noRefuse, noOutage, noCuts, noLeases)
}

func run(t *testing.T, h conformance.Harness, lacks ...skips) {
	t.Helper()
	if text := os.Getenv(envPatience); text != "" {
		var err error
		h.Patience, err = time.ParseDuration(text)
		must(t, err)
	}
	if h.Cases == nil {
		h.Cases = conformance.Cases()
	}
	results := conformance.Run(t, h)
	if len(results) < len(h.Cases) {
		return // the command line asks for some only
	}
	want, got := skips{}, skips{}
	for _, s := range lacks {
		for _, c := range h.Cases {
			if need, ok := s[c.ID]; ok {
				want[c.ID] = need
			}
		}
	}
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
