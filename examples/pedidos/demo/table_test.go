package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	good := func() *Result {
		r := &Result{
			Transport: "kafka", Store: "postgres", Seed: 3, Published: 208, Deliveries: 596, Effects: 400,
			DuplicatesIgnored: 184, Retries: 78, DeadLetters: 18, Discarded: 6, PausedResumed: 1, ElapsedMS: 4216,
		}
		r.expect("malformed JSON", true, `6 dead letters "undecodable"`, "6")
		r.expect("a bug in the stock handler", true, "paused, fixed, 100 reservations", "1 pause resumed, 100 reservations")
		return r
	}
	const lines = `
  SCENARIO                     EXPECTED                          OBSERVED
✓ malformed JSON               6 dead letters "undecodable"      6
✓ a bug in the stock handler   paused, fixed, 100 reservations   1 pause resumed, 100 reservations

  published 208            deliveries 596   effects 400
  duplicates ignored 184   retries 78       dead letters 18, discarded 6
`
	for _, tc := range []struct {
		name   string
		change func(*Result)
		want   string
	}{
		{"all is well", func(*Result) {}, lines + `
✓ lost 0, doubled 0: each order had each of its effects exactly once (4.22s on kafka (store postgres), seed 3)
`},
		{"an expectation failed", func(r *Result) { r.Scenarios[0].OK, r.Scenarios[0].Observed = false, "5" }, strings.NewReplacer(
			`✓ malformed`, `✗ malformed`, `"      6`, `"      5`).Replace(lines) + `
✗ FAILED, lost 0, doubled 0: see the lines marked ✗ (4.22s on kafka (store postgres), seed 3)
`},
		{"an effect is doubled", func(r *Result) { r.Doubled = 1 }, lines + `
✗ FAILED, lost 0, doubled 1: see the lines marked ✗ (4.22s on kafka (store postgres), seed 3)
`},
		{"it took too long", func(r *Result) { r.Lost, r.Error = 3, "not done after 25s (3 effects missing)" }, lines + `
✗ FAILED, lost 3, doubled 0: not done after 25s (3 effects missing) (4.22s on kafka (store postgres), seed 3)
`},
		{"it was interrupted", func(r *Result) { r.interrupted, r.Error = true, "interrupted before the end" }, `
✗ interrupted before the end, so nothing is proved (4.22s on kafka (store postgres), seed 3)
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := good()
			tc.change(r)
			r.judge()
			var b strings.Builder
			if err := r.WriteTable(&b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Error(diff)
			}
			if r.OK != strings.Contains(b.String(), "exactly once") {
				t.Errorf("ok is %v", r.OK)
			}
		})
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 pauses", 1: "1 pause", 2: "2 pauses"} {
		if got := count(n, "pause"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
