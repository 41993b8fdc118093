package report

import (
	"fmt"
)

// Problems lists, a line each, what keeps the report from being a certificate:
// cases that failed, effects that were lost or doubled by a crash plan or by a
// pipeline of idem, plans that did not run to their end. None means that everything
// that ran held. Losses of other pipelines in the baseline are no problems.
func (r Report) Problems() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, c := range r.Conformance {
		for _, res := range c.Results {
			if res.Outcome == Failed {
				add("%s: %s failed: %s", c.Harness, res.ID, res.Reason)
			}
		}
	}
	for _, c := range r.Crash {
		for _, res := range c.Results {
			where := c.Harness + ": " + res.Plan
			if res.Step != "" {
				where += " " + res.Step
			}
			for _, n := range []struct {
				what   string
				counts *Counts
			}{{"effects", &res.Effects}, {"emitted events", res.Emitted}, {"external calls", res.Calls}} {
				if n.counts != nil && !n.counts.Exact() {
					add("%s: of %d %s %d were lost and %d doubled", where, n.counts.Expected, n.what, n.counts.Lost, n.counts.Doubled)
				}
			}
			if res.Reason != "" {
				add("%s: did not run to its end: %s", where, res.Reason)
			}
		}
	}
	for _, b := range r.Baseline {
		for _, res := range b.Results {
			if b.Idem && (!res.Effects.Exact() || res.Parked > 0) {
				add("%s: %s: of %d effects %d were lost and %d doubled, %d messages were parked for no fault of theirs",
					b.Pipeline, res.ID, res.Effects.Expected, res.Effects.Lost, res.Effects.Doubled, res.Parked)
			}
		}
	}
	return out
}
