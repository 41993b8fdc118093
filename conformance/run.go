package conformance

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
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
	h.report(t, results)
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
func (h Harness) report(t *testing.T, results []Result) {
	t.Helper()
	dir := os.Getenv("IDEM_CONFORMANCE_REPORT")
	if dir == "" {
		return
	}
	text, err := json.MarshalIndent(map[string]any{"harness": h.Name, "at": time.Now().UTC(), "results": results}, "", "\t")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, h.Name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Errorf("conformance: writing the report: %v", err)
	}
}
