package idem

import (
	"math"
	"slices"
	"testing"
	"time"
)

var allClasses = []Class{ClassNone, ClassTransient, ClassRateLimited, ClassInvalid, ClassPermanent, ClassIgnorable, ClassBug, ClassUnavailable, ClassShutdown}

// The action table: what happens for each class before, at and after the last
// attempt, and for both bug policies.
func TestDecide(t *testing.T) {
	t.Parallel()
	backoff := Backoff{Base: time.Second, Max: 3 * time.Second, Factor: 2}
	caps := map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 3 * time.Second, 4: 3 * time.Second}
	retry := func(attempt int) Outcome { return Outcome{Kind: Retry, After: caps[attempt]} }
	later := func(attempt int) Outcome { return Outcome{Kind: Unavailable, After: caps[attempt]} }
	always := func(o Outcome) func(int) Outcome { return func(int) Outcome { return o } }

	for _, tt := range []struct {
		name  string
		class Class
		onBug BugPolicy
		// before and after give the outcome while attempts are left and when none is.
		before, after func(attempt int) Outcome
	}{
		{"success", ClassNone, "", always(Outcome{Kind: Done}), always(Outcome{Kind: Done})},
		{"timeout: retried with backoff, then given up", ClassTransient, "", retry, always(Outcome{Kind: Dead, Reason: ReasonExhausted})},
		{"database down: comes back, no attempt", ClassUnavailable, "", later, later},
		{"429: comes back, no attempt", ClassRateLimited, "", later, later},
		{"bad JSON, missing field: dead letter at once", ClassInvalid, "", always(Outcome{Kind: Dead, Reason: ReasonInvalid}), always(Outcome{Kind: Dead, Reason: ReasonInvalid})},
		{"entity absent for good: dead letter at once", ClassPermanent, "", always(Outcome{Kind: Dead, Reason: ReasonPermanent}), always(Outcome{Kind: Dead, Reason: ReasonPermanent})},
		{"entity absent, ignored: discarded with audit", ClassIgnorable, "", always(Outcome{Kind: Discard, Reason: ReasonIgnored}), always(Outcome{Kind: Discard, Reason: ReasonIgnored})},
		{"bug: its attempts, then pause", ClassBug, "", retry, always(Outcome{Kind: Pause, Reason: ReasonBug})},
		{"bug: its attempts, then pause", ClassBug, BugPauses, retry, always(Outcome{Kind: Pause, Reason: ReasonBug})},
		{"bug: its attempts, then dead letter", ClassBug, BugDeadLetters, retry, always(Outcome{Kind: Dead, Reason: ReasonBug})},
		{"bug with a policy nobody knows: pause loses nothing", ClassBug, "shrug", retry, always(Outcome{Kind: Pause, Reason: ReasonBug})},
		{"shutdown, lease lost: untouched", ClassShutdown, "", always(Outcome{Kind: Abandon}), always(Outcome{Kind: Abandon})},
		{"unknown class: bounded retries", "purple", "", retry, always(Outcome{Kind: Dead, Reason: ReasonExhausted})},
	} {
		for _, maxAttempts := range []int{1, 2, 3} {
			p := Policy{MaxAttempts: maxAttempts, OnBug: tt.onBug, Backoff: backoff}
			for attempt := 1; attempt <= maxAttempts+1; attempt++ {
				want := tt.before(attempt)
				if attempt >= maxAttempts {
					want = tt.after(attempt)
				}
				if got := Decide(tt.class, attempt, p); got != want {
					t.Errorf("%s (%s): attempt %d of %d: got %+v, want %+v", tt.name, tt.class, attempt, maxAttempts, got, want)
				}
			}
		}
	}
}

// A message that fails transiently runs exactly MaxAttempts times.
func TestDecideRunsExactlyMaxAttempts(t *testing.T) {
	t.Parallel()
	for maxAttempts, want := range map[int]int{-1: 1, 0: 5, 1: 1, 2: 2, 7: 7} {
		runs := 1
		for Decide(ClassTransient, runs, Policy{MaxAttempts: maxAttempts}).Kind == Retry {
			runs++
		}
		if runs != want {
			t.Errorf("MaxAttempts %d: %d runs, want %d", maxAttempts, runs, want)
		}
	}
}

// Before the first counted run, a message that has to wait waits briefly.
func TestDecideWithoutAttempts(t *testing.T) {
	t.Parallel()
	for _, attempt := range []int{math.MinInt, -1, 0} {
		got := Decide(ClassUnavailable, attempt, Policy{})
		want := Outcome{Kind: Unavailable, After: 200 * time.Millisecond}
		if got != want {
			t.Errorf("attempt %d: got %+v, want %+v", attempt, got, want)
		}
	}
}

func FuzzDecide(f *testing.F) {
	for _, class := range allClasses {
		f.Add(string(class), 0, 0, "", int64(0), int64(0), 0.0)
		f.Add(string(class), math.MaxInt, 3, "deadletter", int64(1), int64(math.MaxInt64), 1e300)
		f.Add(string(class), math.MinInt, math.MinInt, "x", int64(-1), int64(-1), math.NaN())
	}
	f.Fuzz(func(t *testing.T, class string, attempt, maxAttempts int, onBug string, base, limit int64, factor float64) {
		p := Policy{MaxAttempts: maxAttempts, OnBug: BugPolicy(onBug), Backoff: Backoff{time.Duration(base), time.Duration(limit), factor}}
		got := Decide(Class(class), attempt, p)
		if !slices.Contains([]Kind{Done, Retry, Dead, Discard, Pause, Unavailable, Abandon}, got.Kind) {
			t.Errorf("unknown kind in %+v", got)
		}
		if (got.Kind == Done) != (class == "") {
			t.Errorf("class %q: %+v", class, got)
		}
		waits := got.Kind == Retry || got.Kind == Unavailable
		if p.Validate() == nil && waits != (got.After > 0) {
			t.Errorf("class %q: %+v waits %v", class, got, got.After)
		}
		named := got.Kind == Dead || got.Kind == Discard || got.Kind == Pause
		if named != (got.Reason != "") {
			t.Errorf("class %q: reason missing or out of place in %+v", class, got)
		}
		if got.Kind == Retry && attempt >= p.WithDefaults().MaxAttempts {
			t.Errorf("attempt %d of %d is retried", attempt, p.WithDefaults().MaxAttempts)
		}
	})
}
