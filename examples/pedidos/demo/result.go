package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Result is what a run found; its JSON form is what -json prints.
type Result struct {
	Transport string `json:"transport"`
	Store     string `json:"store"`
	Seed      uint64 `json:"seed"`
	// Published counts messages sent, Deliveries what the consumers were given.
	Published  int   `json:"published"`
	Deliveries int64 `json:"deliveries"`
	// Effects are business rows and charges, counted where they are.
	Effects           int   `json:"effects"`
	DuplicatesIgnored int64 `json:"duplicates_ignored"`
	Retries           int64 `json:"retries"`
	DeadLetters       int   `json:"dead_letters"`
	Discarded         int   `json:"discarded"`
	PausedResumed     int64 `json:"paused_resumed"`
	Killed            int   `json:"killed"`
	// Lost and Doubled are the ledger's: see audit.
	Lost      int        `json:"lost"`
	Doubled   int        `json:"doubled"`
	ElapsedMS int64      `json:"elapsed_ms"`
	OK        bool       `json:"ok"`
	Scenarios []Scenario `json:"scenarios"`
	// Error tells why a run ended early.
	Error string `json:"error,omitempty"`
}

// Scenario is one expectation and what was seen.
type Scenario struct {
	Name     string `json:"name"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	OK       bool   `json:"ok"`
}

func (r *Result) expect(name string, ok bool, expected, observed string) {
	r.Scenarios = append(r.Scenarios, Scenario{name, expected, observed, ok})
}

func (r *Result) judge() {
	r.OK = r.Error == "" && r.Lost == 0 && r.Doubled == 0
	for _, s := range r.Scenarios {
		r.OK = r.OK && s.OK
	}
}

// WriteJSON prints the result as one object.
func (r *Result) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteTable prints the result for people.
func (r *Result) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(tw, "\n\tSCENARIO\tEXPECTED\tOBSERVED\n")
	for _, s := range r.Scenarios {
		mark := "✓"
		if !s.OK {
			mark = "✗"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", mark, s.Name, s.Expected, s.Observed)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d messages published, %d deliveries, %d effects, %d duplicates ignored, %d retries,\n%d dead letters, %d discarded, %d pauses resumed, %d kills, in %v on %s (store %s, seed %d)\n",
		r.Published, r.Deliveries, r.Effects, r.DuplicatesIgnored, r.Retries, r.DeadLetters, r.Discarded, r.PausedResumed, r.Killed,
		(time.Duration(r.ElapsedMS) * time.Millisecond).Round(10*time.Millisecond), r.Transport, r.Store, r.Seed)
	verdict := "ok: every order had each of its effects exactly once"
	switch {
	case r.Error != "":
		verdict = "FAILED: " + r.Error
	case !r.OK:
		verdict = "FAILED: see the rows marked ✗"
	}
	_, err := fmt.Fprintf(w, "lost %d, doubled %d  →  %s\n", r.Lost, r.Doubled, verdict)
	return err
}
