package idem_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// statusError is what an HTTP client of yours may return.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("gateway answered %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

var errNoStock = errors.New("out of stock")

// What follows an error is decided by a pure function of its class, of how often
// the handler has run, and of the policy.
func ExampleDecide() {
	classifier := idem.Classifier{Rules: []idem.Rule{{Is: errNoStock, Class: idem.ClassIgnorable}}}
	policy := idem.Policy{MaxAttempts: 3}
	for _, tt := range []struct {
		err     error
		attempt int
	}{
		{nil, 1},
		{errors.New("anything"), 1},
		{errors.New("anything"), 3},
		{idem.Permanent(errors.New("card stolen")), 1},
		{fmt.Errorf("reserve: %w", errNoStock), 1},
		{statusError(404), 1},
		{statusError(429), 99},
		{driver.ErrBadConn, 99},
		{idem.Bug(errors.New("index out of range")), 3},
		{idem.ErrShuttingDown, 1},
	} {
		class := classifier.Classify(tt.err)
		o := idem.Decide(class, tt.attempt, policy)
		fmt.Printf("%-23v %-22s → %-11s %-18s (run %d)\n", tt.err, class, o.Kind, o.Reason, tt.attempt)
	}
	// Output:
	// <nil>                                          → done                           (run 1)
	// anything                transient              → retry                          (run 1)
	// anything                transient              → dead_letter attempts_exhausted (run 3)
	// card stolen             permanent              → dead_letter permanent          (run 1)
	// reserve: out of stock   ignorable              → discard     ignored            (run 1)
	// gateway answered 404    permanent              → dead_letter permanent          (run 1)
	// gateway answered 429    rate_limited           → unavailable                    (run 99)
	// driver: bad connection  dependency_unavailable → unavailable                    (run 99)
	// index out of range      bug                    → pause       bug                (run 3)
	// idem: shutting down     shutting_down          → abandon                        (run 1)
}

// A mark says what the error itself does not. It survives wrapping, and the
// outermost one counts.
func ExamplePermanent() {
	declined := idem.Permanent(errors.New("card declined"))
	wrapped := fmt.Errorf("charge order p1: %w", declined)
	later := idem.RetryAfter(errors.New("too many requests"), 30*time.Second)

	var c idem.Classifier
	fmt.Println(c.Classify(wrapped), "—", wrapped)
	fmt.Println(c.Classify(idem.Transient(wrapped)))
	wait, _ := idem.RetryAfterOf(fmt.Errorf("charge: %w", later))
	fmt.Println(c.Classify(later), wait)
	// Output:
	// permanent — charge order p1: card declined
	// transient
	// rate_limited 30s
}
