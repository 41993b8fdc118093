package idem

import "time"

// mark gives the error it wraps a class, a delay or the promise that nothing
// happened. It adds nothing to the text.
type mark struct {
	error
	class      Class
	after      time.Duration
	notApplied bool
}

func (m *mark) Unwrap() error { return m.error }

func marked(err error, m mark) error {
	if err == nil {
		return nil
	}
	m.error = err
	return &m
}

// Permanent marks err as one that will never succeed: the message becomes a
// dead letter at once. Like every marker it returns nil for nil, keeps the
// text of err, and is found through any wrapping; [Classifier] says which
// marker counts when there are several.
func Permanent(err error) error { return marked(err, mark{class: ClassPermanent}) }

// Transient marks err as one that may pass by itself: the message is tried
// again until its attempts are used up.
func Transient(err error) error { return marked(err, mark{class: ClassTransient}) }

// Invalid marks err as a message that breaks its contract: it becomes a dead
// letter at once.
func Invalid(err error) error { return marked(err, mark{class: ClassInvalid}) }

// Ignore marks err as nothing to worry about, such as an order that is gone:
// the message is discarded with audit. The transaction is rolled back.
func Ignore(err error) error { return marked(err, mark{class: ClassIgnorable}) }

// Bug marks err as a mistake in the program: after its attempts the consumer
// pauses, unless the policy says otherwise.
func Bug(err error) error { return marked(err, mark{class: ClassBug}) }

// DependencyDown marks err as the failure of something else: the message comes
// back later and no attempt is counted.
func DependencyDown(err error) error { return marked(err, mark{class: ClassUnavailable}) }

// RetryAfter marks err as an order to slow down: the message comes back after
// d and no attempt is counted. A d that is not positive leaves the delay to
// the backoff. To count the attempt wrap it again: Transient(RetryAfter(err, d)).
func RetryAfter(err error, d time.Duration) error {
	return marked(err, mark{class: ClassRateLimited, after: d})
}

// NotApplied promises that an external call that failed with err has had no
// effect, so that it may be repeated; the class stays that of err. Use it for
// a refused connection, not for a timeout. It must cover the whole error: in a
// joined one, and in fmt.Errorf with several %w, each member needs it.
func NotApplied(err error) error { return marked(err, mark{notApplied: true}) }
