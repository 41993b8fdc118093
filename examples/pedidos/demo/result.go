package demo

import (
	"encoding/json"
	"io"
)

// Result is what a run found; its JSON form is what -json prints.
type Result struct {
	// Run is in the names of everything the run made on a server.
	Run       string `json:"run"`
	Transport string `json:"transport"`
	Store     string `json:"store"`
	Seed      uint64 `json:"seed"`
	// Published counts messages sent, Deliveries what the consumers settled.
	// What a killed instance did after its last report is not in the latter,
	// nor in DuplicatesIgnored and Retries.
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
	// Lost and Doubled are the ledger's: effects that are missing, and effects
	// that should not be there.
	Lost      int        `json:"lost"`
	Doubled   int        `json:"doubled"`
	ElapsedMS int64      `json:"elapsed_ms"`
	OK        bool       `json:"ok"`
	Scenarios []Scenario `json:"scenarios"`
	// Error tells why a run ended early.
	Error string `json:"error,omitempty"`

	interrupted bool
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
