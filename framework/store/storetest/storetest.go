// Package storetest is the specification of [idem.Store] as a test suite: a
// store is right when it passes [Run]. The cases prove behaviour only through
// the interface and the few hooks of [Options], so they fit every database.
package storetest

import (
	"context"
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

// Options tell the suite what the interface cannot express. Effect and Count
// are required.
type Options struct {
	// Effect writes one business row in tx; the same id twice makes two rows.
	Effect func(ctx context.Context, tx idem.Tx, id string) error
	// Count returns how many committed business rows bear the id.
	Count func(t *testing.T, s idem.Store, id string) int

	// Second opens another handle on the database of first, as another
	// process would. Nil: the cases that want two use one handle twice.
	Second func(t *testing.T, first idem.Store) idem.Store
	// Bubble runs a case where time is cheap, such as synctest.Test. Nil: the
	// cases run on the real clock with durations of a few hundred milliseconds.
	Bubble func(t *testing.T, run func(t *testing.T))
	// SingleWriter: the database runs one writing transaction at a time, so a
	// second one waits at BEGIN and fails there with [idem.ErrStore] instead
	// of at Claim with [idem.ErrInFlight].
	SingleWriter bool
	// BreakCommit makes the next COMMIT of s break so that its outcome is
	// unknown; applied says whether it took effect. Nil skips these cases.
	BreakCommit func(t *testing.T, s idem.Store, applied bool)
}

// Case is one promise of a store.
type Case struct {
	// Group and Name name it; they stay.
	Group, Name string

	run func(*bench)
}

// Run puts a store to the test. Open returns a store on an empty database (Run
// migrates it) whose Claim waits at most about two seconds; it registers its own
// clean-up.
func (c Case) Run(t *testing.T, open func(t *testing.T) idem.Store, o Options) {
	t.Helper()
	if o.Effect == nil || o.Count == nil {
		t.Fatal("storetest: Options.Effect and Options.Count are required")
	}
	if o.Bubble == nil {
		o.Bubble = func(t *testing.T, run func(*testing.T)) { run(t) }
	}
	o.Bubble(t, func(t *testing.T) { c.run(newBench(t, open(t), o)) })
}

// Cases returns all cases, by group.
func Cases() []Case {
	var all []Case
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Setup", setupCases},
		{"Transaction", transactionCases},
		{"Commit", commitCases},
		{"Claim", claimCases},
		{"ClaimAll", claimAllCases},
		{"Contention", contentionCases},
		{"Record", recordCases},
		{"Retention", retentionCases},
		{"Outbox", outboxCases},
		{"OutboxOrder", outboxOrderCases},
		{"DeadLetter", deadLetterCases},
		{"DeadLetterQuery", queryCases},
		{"Operations", operationCases},
	} {
		for _, c := range group.cases {
			all = append(all, Case{group.name, c.name, c.run})
		}
	}
	return all
}

// Run runs every case in parallel, each on its own store; see [Case.Run].
func Run(t *testing.T, open func(t *testing.T) idem.Store, o Options) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Group+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, open, o)
		})
	}
}

type testCase struct {
	name string
	run  func(*bench)
}
