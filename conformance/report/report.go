package report

import (
	"slices"
	"time"
)

// Format is the version of the JSON form. It changes when a reader of the last
// one could misread the new one.
const Format = 1

// Report is what one or more runs saw. Its zero value is an empty report.
type Report struct {
	// Format is [Format]; 0 in a report that was not read from a file.
	Format int `json:"format"`
	// Conformance has the cases that ran, one entry per harness.
	Conformance []Conformance `json:"conformance,omitempty"`
	// Crash is the crash certificate, one entry per harness.
	Crash []Crash `json:"crash,omitempty"`
	// Baseline has pipelines in the trouble that the scenarios make, one entry
	// per pipeline.
	Baseline []Baseline `json:"baseline,omitempty"`
}

// Run says what ran, where and when.
type Run struct {
	// Started is when it began.
	Started time.Time `json:"started"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Environment is where it ran.
	Environment Environment `json:"environment"`
}

// Conformance is the outcome of the kit's cases on one harness.
type Conformance struct {
	// Harness is the name of the pair under test: "kafka", "kafka-sqlite", …
	Harness string `json:"harness"`
	Run     Run    `json:"run"`
	// Capabilities is what the transport declares, by the name of the field in
	// idem.Capabilities.
	Capabilities map[string]string `json:"capabilities,omitempty"`
	Results      []Result          `json:"results,omitempty"`
}

// Result is the outcome of one case.
type Result struct {
	// ID is the case's stable name: "DUP-01".
	ID string `json:"id"`
	// Intent is what the case proves, in one line.
	Intent  string  `json:"intent"`
	Outcome Outcome `json:"outcome"`
	// Reason says what a skipped case misses, a capability or a fault, or how
	// a failed one failed. Empty when it passed.
	Reason string `json:"reason,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Notes tell what was done and what was seen, in order.
	Notes []string `json:"notes,omitempty"`
}

// Outcome is how a case ended.
type Outcome string

// The outcomes of a case.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// weight orders outcomes by how much they count when a case ran more than once.
func (o Outcome) weight() int { return slices.Index([]Outcome{Skipped, Passed, Failed}, o) }

// Crash is the crash certificate of one harness.
type Crash struct {
	// Harness is the name of the pair under test.
	Harness string        `json:"harness"`
	Run     Run           `json:"run"`
	Results []CrashResult `json:"results,omitempty"`
}

// CrashResult is what one plan left behind.
type CrashResult struct {
	// Plan is what was done to the system: "kill at step", "kill at random",
	// "two children", "broker restart", …
	Plan string `json:"plan"`
	// Step is where on a message's path it was done; empty if anywhere.
	Step string `json:"step,omitempty"`
	// Kills is how often it was done.
	Kills int `json:"kills"`
	// Effects are the rows of the business table, one per message that was
	// published.
	Effects Counts `json:"effects"`
	// Emitted are the events of handlers as they arrived downstream. Relays
	// deliver at least once with the same id, so Doubled counts ids that
	// arrived under two identities, not repetitions.
	Emitted *Counts `json:"emitted,omitempty"`
	// Calls are requests to a third party.
	Calls   *Counts `json:"calls,omitempty"`
	Seconds float64 `json:"seconds"`
	// Reason says why the plan could not run to its end; empty if it did.
	Reason string `json:"reason,omitempty"`
	// Notes tell what was done and what was seen, in order.
	Notes []string `json:"notes,omitempty"`
}

// Counts compares what should be there once with what is there.
type Counts struct {
	// Expected is how many there should be.
	Expected int `json:"expected"`
	// Lost is how many of them are not there.
	Lost int `json:"lost"`
	// Doubled is how many are there more than once.
	Doubled int `json:"doubled"`
}

// Exact tells whether everything is there once.
func (c Counts) Exact() bool { return c.Lost == 0 && c.Doubled == 0 }

// Baseline is what one pipeline did in each scenario of the baseline.
type Baseline struct {
	// Pipeline is its name: "watermill: deduplicator, retry, poison queue", …
	Pipeline string `json:"pipeline"`
	// Idem tells that it is one of ours, which must be exact.
	Idem    bool             `json:"idem,omitempty"`
	Run     Run              `json:"run"`
	Results []BaselineResult `json:"results,omitempty"`
}

// BaselineResult is what a pipeline left behind after one scenario.
type BaselineResult struct {
	// ID is the scenario's stable name: "BASE-01".
	ID string `json:"id"`
	// Scenario is the trouble, in one line.
	Scenario string `json:"scenario"`
	// Effects are the rows of the business table. A message that waits in a dead
	// letter for a reason of its own is not expected there.
	Effects Counts `json:"effects"`
	// Parked is how many messages became dead letters without any fault of
	// theirs.
	Parked  int      `json:"parked"`
	Seconds float64  `json:"seconds"`
	Notes   []string `json:"notes,omitempty"`
}
