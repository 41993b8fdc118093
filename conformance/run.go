package conformance

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/idem-go/idem/conformance/report"
	"github.com/idem-go/idem/framework/idem"
)

// Outcome of a case.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is what became of a case.
type Result struct {
	ID      string  `json:"id"`
	Intent  string  `json:"intent"`
	Outcome Outcome `json:"outcome"`
	// Skipped is the need that was not met.
	Skipped Need `json:"skipped,omitempty"`
	// Seconds that it took.
	Seconds float64 `json:"seconds"`
	// Notes tell what was done and seen, in order.
	Notes []string `json:"notes,omitempty"`
}

// Run runs all cases on a harness, and more of the caller's own, some at a time,
// each as a subtest with the case's id. It returns when all have ended; what the
// command line's -run left out is not among the results.
func Run(t *testing.T, h Harness, more ...Case) []Result {
	t.Helper()
	if h.Name == "" || h.New == nil {
		t.Fatal("conformance: Harness.Name and Harness.New are required")
	}
	if h.Parallel == 0 {
		h.Parallel = 8
	}
	h.Backlog = cmp.Or(h.Backlog, 100_000)
	begun := time.Now()
	has := h.traits(t)
	if h.Cases == nil {
		h.Cases = Cases()
	}
	cases := slices.Concat(h.Cases, more)
	results := make([]Result, len(cases))
	var running sync.WaitGroup
	slots := make(chan struct{}, h.Parallel)
	for i, c := range cases {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			t.Run(c.ID, func(t *testing.T) { h.run(t, has, c, &results[i]) })
		})
	}
	running.Wait()
	results = slices.DeleteFunc(results, func(r Result) bool { return r.ID == "" })
	h.report(t, has.caps, begun, results)
	return results
}

// traits looks at the harness once, for what transports declare is constant.
func (h Harness) traits(t *testing.T) traits {
	t.Helper()
	p := h.New(t)
	process := newWorld(t, p).Open()
	t.Cleanup(process.Close)
	caps := process.Transport.Capabilities()
	return traits{
		caps: caps, database: caps.Database != "" && caps.Database == process.Store.Database(),
		faults: p.Faults, effects: process.Effects, strangers: p.Strangers != nil, cut: process.Cut != nil,
	}
}

func (h Harness) run(t *testing.T, has traits, c Case, r *Result) {
	*r = Result{ID: c.ID, Intent: c.Intent, Outcome: Failed}
	if need, lacks := has.missing(c); lacks {
		r.Outcome, r.Skipped = Skipped, need
		t.Skipf("%s: needs %s, which %s does not have", c.Intent, need, h.Name)
	}
	begun := time.Now()
	w := newWorld(t, h.New(t))
	w.backlog, w.Config, w.patience = h.Backlog, h.Config, cmp.Or(h.Patience, patience)
	t.Cleanup(func() { // before that of the place, which was registered earlier
		r.Seconds, r.Notes = time.Since(begun).Seconds(), w.notes
		if !t.Failed() {
			r.Outcome = Passed
		}
	})
	c.Run(w)
}

// report writes the results where somebody wants them.
func (h Harness) report(t *testing.T, caps idem.Capabilities, begun time.Time, results []Result) {
	t.Helper()
	dir := os.Getenv(report.Env)
	if dir == "" {
		return
	}
	c := report.Conformance{
		Harness:      h.Name,
		Run:          report.Run{Started: begun.UTC(), Seconds: time.Since(begun).Seconds(), Environment: report.Here()},
		Capabilities: declared(caps),
	}
	for _, r := range results {
		c.Results = append(c.Results, report.Result{
			ID: r.ID, Intent: r.Intent, Outcome: report.Outcome(r.Outcome), Reason: string(r.Skipped), Seconds: r.Seconds, Notes: r.Notes,
		})
	}
	if err := report.Write(dir, h.Name, report.Report{Conformance: []report.Conformance{c}}); err != nil {
		t.Errorf("conformance: writing the report: %v", err)
	}
}

// declared are the capabilities that are not zero, by the name of their field.
func declared(caps idem.Capabilities) map[string]string {
	out := map[string]string{}
	v := reflect.ValueOf(caps)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			out[v.Type().Field(i).Name] = fmt.Sprint(f.Interface())
		}
	}
	return out
}
