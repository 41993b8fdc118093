package demo

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteTable prints the result for people. An interrupted run has no table:
// nobody expected anything of it yet.
func (r *Result) WriteTable(w io.Writer) error {
	if !r.interrupted {
		if err := r.writeScenarios(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.verdict())
	return err
}

func (r *Result) writeScenarios(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	fmt.Fprintf(tw, "\n  SCENARIO\tEXPECTED\tOBSERVED\n")
	for _, s := range r.Scenarios {
		mark := "✓"
		if !s.OK {
			mark = "✗"
		}
		fmt.Fprintf(tw, "%s %s\t%s\t%s\n", mark, s.Name, s.Expected, s.Observed)
	}
	fmt.Fprintf(tw, "\n  published %d\tdeliveries %d\teffects %d\n", r.Published, r.Deliveries, r.Effects)
	fmt.Fprintf(tw, "  duplicates ignored %d\tretries %d\tdead letters %d, discarded %d\n", r.DuplicatesIgnored, r.Retries, r.DeadLetters, r.Discarded)
	return tw.Flush()
}

func (r *Result) verdict() string {
	took := (time.Duration(r.ElapsedMS) * time.Millisecond).Round(10 * time.Millisecond)
	where := fmt.Sprintf("%s on %s (store %s), seed %d", took, r.Transport, r.Store, r.Seed)
	switch {
	case r.interrupted:
		return fmt.Sprintf("✗ %s, so nothing is proved (%s)", r.Error, where)
	case r.Error != "":
		return fmt.Sprintf("✗ FAILED, lost %d, doubled %d: %s (%s)", r.Lost, r.Doubled, r.Error, where)
	case !r.OK:
		return fmt.Sprintf("✗ FAILED, lost %d, doubled %d: see the lines marked ✗ (%s)", r.Lost, r.Doubled, where)
	default:
		return fmt.Sprintf("✓ lost 0, doubled 0: each order had each of its effects exactly once (%s)", where)
	}
}
