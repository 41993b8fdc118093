package idem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var errPlain = errors.New("plain")

// several is a user's type that wraps many errors.
type several []error

func (s several) Error() string   { return fmt.Sprint([]error(s)) }
func (s several) Unwrap() []error { return s }

var markers = map[string]struct {
	mark func(error) error
	want Class
}{
	"Permanent":      {Permanent, ClassPermanent},
	"Transient":      {Transient, ClassTransient},
	"Invalid":        {Invalid, ClassInvalid},
	"Ignore":         {Ignore, ClassIgnorable},
	"Bug":            {Bug, ClassBug},
	"DependencyDown": {DependencyDown, ClassUnavailable},
	"RetryAfter":     {func(err error) error { return RetryAfter(err, time.Second) }, ClassRateLimited},
	"NotApplied":     {NotApplied, ClassTransient}, // that of errPlain
}

// "Do not retry" has got lost in other libraries when the error was wrapped.
func TestMarkersSurviveWrapping(t *testing.T) {
	t.Parallel()
	for name, m := range markers {
		if got := m.mark(nil); got != nil {
			t.Errorf("%s(nil) is %v", name, got)
		}
		marked := m.mark(errPlain)
		for _, err := range []error{
			marked,
			fmt.Errorf("outer: %w", marked),
			fmt.Errorf("twice: %w", fmt.Errorf("outer: %w", marked)),
			errors.Join(marked),
			several{nil, marked, nil},
			fmt.Errorf("deep: %w", errors.Join(several{fmt.Errorf("inner: %w", marked)})),
		} {
			if got := (Classifier{}).Classify(err); got != m.want {
				t.Errorf("%s as %q: class %q, want %q", name, err, got, m.want)
			}
			if !errors.Is(err, errPlain) || !strings.Contains(err.Error(), "plain") {
				t.Errorf("%s as %q: the marked error is lost", name, err)
			}
			if everyBranchRefuses(err, fullReach) != (name == "NotApplied") {
				t.Errorf("%s as %q: notApplied is %t", name, err, everyBranchRefuses(err, fullReach))
			}
		}
		if marked.Error() != errPlain.Error() {
			t.Errorf("%s changes the text to %q", name, marked)
		}
	}
}

// Between joined errors the more careful marker wins, in any order and nesting.
func TestMarkersJoined(t *testing.T) {
	t.Parallel()
	order := []struct {
		class Class
		err   error
	}{
		{ClassShutdown, ErrLeaseLost},
		{ClassBug, Bug(errPlain)},
		{ClassInvalid, Invalid(errPlain)},
		{ClassPermanent, Permanent(errPlain)},
		{ClassRateLimited, RetryAfter(errPlain, time.Second)},
		{ClassUnavailable, DependencyDown(errPlain)},
		{ClassTransient, Transient(errPlain)},
		{ClassTransient, errPlain},
		{ClassIgnorable, Ignore(errPlain)},
	}
	for i, winner := range order {
		for _, other := range order[i:] {
			for _, err := range []error{
				errors.Join(winner.err, other.err),
				errors.Join(other.err, winner.err),
				fmt.Errorf("%w and %w", other.err, winner.err),
				several{fmt.Errorf("wrapped: %w", fmt.Errorf("twice: %w", winner.err)), other.err},
				errors.Join(errors.Join(other.err, other.err), several{other.err, several{winner.err}}),
			} {
				if got := (Classifier{}).Classify(err); got != winner.class {
					t.Errorf("%s joined with %s is %s", winner.class, other.class, got)
				}
			}
		}
	}
}

// One permanent cause, however wrapped and joined, ends the message after one
// run, whether there is one attempt or more.
func TestPermanentIsNeverRetried(t *testing.T) {
	t.Parallel()
	permanent := fmt.Errorf("save order: %w", fmt.Errorf("bad total: %w", Permanent(errPlain)))
	err := several{Transient(errors.New("close failed")), errors.Join(errors.New("log failed"), permanent)}
	class := (Classifier{}).Classify(err)
	for _, maxAttempts := range []int{0, 1, 2} {
		if got := Decide(class, 1, Policy{MaxAttempts: maxAttempts}); got.Kind != Dead || got.Reason != ReasonPermanent {
			t.Errorf("MaxAttempts %d: %+v", maxAttempts, got)
		}
	}
	for _, layer := range []string{"save order", "bad total", "plain", "close failed", "log failed"} {
		if !strings.Contains(err.Error(), layer) {
			t.Errorf("%q is missing from %q", layer, err)
		}
	}
}

// Whoever marks last knows most; but nothing hides that we are stopping.
func TestOutermostMarkerCounts(t *testing.T) {
	t.Parallel()
	for name, outer := range markers {
		if name == "NotApplied" {
			continue
		}
		for _, inner := range markers {
			err := outer.mark(fmt.Errorf("between: %w", inner.mark(errPlain)))
			if got := (Classifier{}).Classify(err); got != outer.want {
				t.Errorf("%s around a marker: %s", name, got)
			}
		}
		if got := (Classifier{}).Classify(outer.mark(errors.Join(errPlain, ErrShuttingDown))); got != ClassShutdown {
			t.Errorf("%s hides the shutdown: %s", name, got)
		}
	}
	for _, err := range []error{NotApplied(Permanent(errPlain)), Permanent(NotApplied(errPlain))} {
		if got := (Classifier{}).Classify(err); got != ClassPermanent || !everyBranchRefuses(err, fullReach) {
			t.Errorf("NotApplied with Permanent: %s, not applied is %t", got, everyBranchRefuses(err, fullReach))
		}
	}
}

// A call is repeated only when all of the error says that it had no effect.
func TestNotAppliedMustCoverTheWhole(t *testing.T) {
	t.Parallel()
	many := slices.Repeat([]error{NotApplied(errPlain)}, int(fullReach)+1)
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errPlain, false},
		{errors.Join(NotApplied(errPlain), NotApplied(errPlain)), true},
		{errors.Join(NotApplied(errPlain), errPlain), false},
		{fmt.Errorf("%w: %w", errPlain, NotApplied(errPlain)), false},
		{NotApplied(fmt.Errorf("%w: %w", errPlain, errPlain)), true},
		{several{}, false},
		{several{NotApplied(errPlain), several{}}, false},
		{several(many), false},
		{several(many[:10]), true},
	} {
		if got := everyBranchRefuses(tt.err, fullReach); got != tt.want {
			t.Errorf("%.80v: got %t, want %t", tt.err, got, tt.want)
		}
	}
}
