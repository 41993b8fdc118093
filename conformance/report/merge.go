package report

import (
	"cmp"
	"slices"
)

// Merge makes one report of many, in an order that does not depend on theirs.
// Where two have run the same, nothing is glossed over: of a case the worst
// outcome stays, and what crash plans counted is added up. The environment is
// that of the run that began last.
func Merge(reports ...Report) Report {
	out := Report{Format: Format}
	for _, r := range reports {
		for _, c := range r.Conformance {
			out.Conformance = upsert(out.Conformance, c, func(x Conformance) bool { return x.Harness == c.Harness }, mergeConformance)
		}
		for _, c := range r.Crash {
			out.Crash = upsert(out.Crash, c, func(x Crash) bool { return x.Harness == c.Harness }, mergeCrash)
		}
		for _, b := range r.Baseline {
			out.Baseline = upsert(out.Baseline, b, func(x Baseline) bool { return x.Pipeline == b.Pipeline }, mergeBaseline)
		}
	}
	slices.SortStableFunc(out.Conformance, func(a, b Conformance) int { return cmp.Compare(a.Harness, b.Harness) })
	slices.SortStableFunc(out.Crash, func(a, b Crash) int { return cmp.Compare(a.Harness, b.Harness) })
	slices.SortStableFunc(out.Baseline, func(a, b Baseline) int {
		if a.Idem != b.Idem {
			return map[bool]int{true: 1, false: -1}[a.Idem] // ours come last, for comparison
		}
		return cmp.Compare(a.Pipeline, b.Pipeline)
	})
	for i := range out.Conformance {
		slices.SortStableFunc(out.Conformance[i].Results, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
	}
	for i := range out.Baseline {
		slices.SortStableFunc(out.Baseline[i].Results, func(a, b BaselineResult) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

// upsert merges x into the element that is the same, or appends a merge with
// nothing, so that no slice is shared with what was read.
func upsert[T any](list []T, x T, same func(T) bool, merge func(a, b T) T) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		list[i] = merge(list[i], x)
		return list
	}
	var none T
	return append(list, merge(none, x))
}

func mergeRun(a, b Run) Run {
	if a.Started.After(b.Started) {
		a, b = b, a
	}
	b.Seconds += a.Seconds
	return b
}

func mergeConformance(a, b Conformance) Conformance {
	a.Harness, a.Run = b.Harness, mergeRun(a.Run, b.Run)
	if b.Capabilities != nil {
		a.Capabilities = b.Capabilities
	}
	a.Results = slices.Clone(a.Results)
	for _, r := range b.Results {
		a.Results = upsert(a.Results, r, func(x Result) bool { return x.ID == r.ID }, func(x, r Result) Result {
			if x.Outcome.weight() > r.Outcome.weight() {
				return x
			}
			return r
		})
	}
	return a
}

func mergeCrash(a, b Crash) Crash {
	a.Harness, a.Run = b.Harness, mergeRun(a.Run, b.Run)
	a.Results = slices.Clone(a.Results)
	for _, r := range b.Results {
		a.Results = upsert(a.Results, r, func(x CrashResult) bool { return x.Plan == r.Plan && x.Step == r.Step }, mergeCrashResult)
	}
	return a
}

func mergeCrashResult(a, b CrashResult) CrashResult {
	a.Plan, a.Step = b.Plan, b.Step
	a.Kills += b.Kills
	a.Seconds += b.Seconds
	a.Effects = a.Effects.plus(b.Effects)
	a.Emitted, a.Calls = plus(a.Emitted, b.Emitted), plus(a.Calls, b.Calls)
	a.Reason = cmp.Or(a.Reason, b.Reason)
	a.Notes = slices.Concat(a.Notes, b.Notes)
	return a
}

func mergeBaseline(a, b Baseline) Baseline {
	a.Pipeline, a.Idem, a.Run = b.Pipeline, b.Idem, mergeRun(a.Run, b.Run)
	a.Results = slices.Clone(a.Results)
	for _, r := range b.Results {
		a.Results = upsert(a.Results, r, func(x BaselineResult) bool { return x.ID == r.ID }, func(x, r BaselineResult) BaselineResult {
			r.Effects = x.Effects.plus(r.Effects)
			r.Parked += x.Parked
			r.Seconds += x.Seconds
			r.Notes = slices.Concat(x.Notes, r.Notes)
			return r
		})
	}
	return a
}

func (c Counts) plus(d Counts) Counts {
	return Counts{Expected: c.Expected + d.Expected, Lost: c.Lost + d.Lost, Doubled: c.Doubled + d.Doubled}
}

func plus(a, b *Counts) *Counts {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := a.plus(*b)
	return &sum
}
