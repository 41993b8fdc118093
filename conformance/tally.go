package conformance

import (
	"sync"
	"testing"
)

// Tally counts handler runs by event, and those that overlap another run of the
// same event. The zero value is ready; safe for concurrent use.
type Tally struct {
	mu       sync.Mutex
	runs     map[string]int
	running  map[string]int
	overlaps []string
}

// Enter begins a run; it returns its number, from 1, and how it ends.
func (y *Tally) Enter(id string) (run int, leave func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.runs == nil {
		y.runs, y.running = map[string]int{}, map[string]int{}
	}
	y.runs[id]++
	y.running[id]++
	if y.running[id] > 1 {
		y.overlaps = append(y.overlaps, id)
	}
	return y.runs[id], func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.running[id]--
	}
}

// Of returns how often an event was run.
func (y *Tally) Of(id string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.runs[id]
}

// Total returns the runs of all events.
func (y *Tally) Total() (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, runs := range y.runs {
		n += runs
	}
	return n
}

// WantRuns checks that each event was run n times.
func (y *Tally) WantRuns(t testing.TB, n int, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if got := y.Of(id); got != n {
			t.Errorf("event %s was run %d times, want %d", id, got, n)
		}
	}
}

// WantApart checks that no two runs of one event overlapped.
func (y *Tally) WantApart(t testing.TB) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.overlaps) > 0 {
		t.Errorf("run twice at the same time: %v", y.overlaps)
	}
}
