package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/framework/idem"
)

// What holds where messages share transactions, too. The rest counts handler
// runs, of which there are more when a neighbour fails, or wants handlers side
// by side, which those of one transaction are not.
const inGroups = `DUP-01 DUP-03 DUP-04 DUP-05 DUP-08 DUP-11 DUP-12 DUP-14 DUP-16 RACE-01 RACE-02 RACE-05 RACE-09
	DLQ-03 DLQ-05 DLQ-07 DLQ-11 RETRY-02 RETRY-03 RETRY-12 RETRY-13 RETRY-14 ORDER-01 ORDER-03 ORDER-10
	DRAIN-02 DRAIN-03 DRAIN-12 FIDELITY-06 FIDELITY-09 LEASE-01 LEASE-07 FOREIGN-01 FOREIGN-02`

func grouped(h conformance.Harness) conformance.Harness {
	mode := idem.TransactionGroup
	h.Name += " (group)"
	h.Config.Defaults.Transaction = &mode
	ids := strings.Fields(inGroups)
	h.Cases = slices.DeleteFunc(conformance.Cases(), func(c conformance.Case) bool { return !slices.Contains(ids, c.ID) })
	return h
}

func TestMemoryGroup(t *testing.T) {
	t.Parallel()
	run(t, grouped(memoryHarness()), noRewind, noCuts, noLoss, noStrangers)
}

func TestSQLiteGroup(t *testing.T) {
	t.Parallel()
	run(t, grouped(sqliteHarness()), noRewind, noCuts)
}

func TestPostgresGroup(t *testing.T) {
	t.Parallel()
	run(t, grouped(postgresHarness()), noRewind, noOutage)
}

func TestKafkaGroup(t *testing.T) {
	t.Parallel()
	run(t, grouped(kafkaHarness()), noOutage)
}
