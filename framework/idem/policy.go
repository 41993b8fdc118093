package idem

import (
	"fmt"
	"time"
)

// Policy bounds what happens to a message that fails. The zero value is
// completed by [Policy.WithDefaults].
type Policy struct {
	// MaxAttempts is how often the handler may run with a fault that is the
	// message's, in-process tries included. 0 means 5; 1 means no retry.
	MaxAttempts int
	// Quick is how many of the retries may happen at once in the process
	// that holds the message, each after at most QuickDelay. 0 means 2,
	// negative means none.
	Quick int
	// QuickDelay is the cap of an in-process delay. 0 means 50 ms; at most 500 ms.
	QuickDelay time.Duration
	// Backoff is the durable delay between retries.
	Backoff Backoff
	// Timeout bounds one handler run. 0 means 30 s.
	Timeout time.Duration
	// OnBug says what a bug that used up its attempts does; "" means BugPauses.
	OnBug BugPolicy
	// MaxDeliveries parks a message that the broker has delivered more often
	// than this without any outcome: it probably kills the process. 0 means
	// 50, negative means no limit. It works where the broker counts deliveries.
	MaxDeliveries int
	// MaxRetryAfter caps the window that a dependency tells us to wait. 0 means 1 h.
	MaxRetryAfter time.Duration
}

// BugPolicy says what follows a handler bug.
type BugPolicy string

// The bug policies.
const (
	BugPauses      BugPolicy = "pause"
	BugDeadLetters BugPolicy = "deadletter"
)

// Kind is the kind of an [Outcome].
type Kind string

// The kinds of outcome.
const (
	// Done: the effect is committed. Ack.
	Done Kind = "done"
	// Duplicate: the key was completed before. Ack.
	Duplicate Kind = "duplicate"
	// Skipped: the message is for other consumers; see Operation.Others. Ack.
	Skipped Kind = "skipped"
	// Retry: try again after a durable delay.
	Retry Kind = "retry"
	// Dead: store a dead letter, then ack.
	Dead Kind = "dead_letter"
	// Discard: store an audited discard, then ack.
	Discard Kind = "discard"
	// Pause: stop the consumer, keep the message.
	Pause Kind = "pause"
	// Unavailable: come back later, not an attempt.
	Unavailable Kind = "unavailable"
	// Abandon: give the message back untouched.
	Abandon Kind = "abandon"
)

// Outcome is what is done with a message.
type Outcome struct {
	Kind Kind
	// After is the cap of the delay of Retry and Unavailable; the delay itself
	// is drawn uniformly below it (full jitter).
	After time.Duration
	// Reason of Dead and Discard.
	Reason string
}

// Decide says what happens to a message whose processing ended with an error
// of the given class (ClassNone: success), after attempt counted handler runs,
// this one included. It is pure and total: the whole behaviour of the framework
// in one function.
func Decide(class Class, attempt int, p Policy) Outcome {
	p = p.WithDefaults()
	switch class {
	case ClassNone:
		return Outcome{Kind: Done}
	case ClassInvalid:
		return Outcome{Kind: Dead, Reason: ReasonInvalid}
	case ClassPermanent:
		return Outcome{Kind: Dead, Reason: ReasonPermanent}
	case ClassIgnorable:
		return Outcome{Kind: Discard, Reason: ReasonIgnored}
	case ClassUnavailable, ClassRateLimited:
		return Outcome{Kind: Unavailable, After: p.Backoff.Cap(max(attempt, 1))}
	case ClassShutdown:
		return Outcome{Kind: Abandon}
	case ClassBug:
		switch {
		case attempt < p.MaxAttempts:
			return Outcome{Kind: Retry, After: p.Backoff.Cap(attempt)}
		case p.OnBug == BugDeadLetters:
			return Outcome{Kind: Dead, Reason: ReasonBug}
		default:
			return Outcome{Kind: Pause, Reason: ReasonBug}
		}
	default: // ClassTransient, and any class we do not know: bounded retries are the safe side
		if attempt < p.MaxAttempts {
			return Outcome{Kind: Retry, After: p.Backoff.Cap(attempt)}
		}
		return Outcome{Kind: Dead, Reason: ReasonExhausted}
	}
}

// WithDefaults returns p with its zero fields filled in.
func (p Policy) WithDefaults() Policy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 5
	}
	if p.Quick == 0 {
		p.Quick = 2
	}
	if p.QuickDelay == 0 {
		p.QuickDelay = 50 * time.Millisecond
	}
	if p.Timeout == 0 {
		p.Timeout = 30 * time.Second
	}
	if p.OnBug == "" {
		p.OnBug = BugPauses
	}
	if p.MaxDeliveries == 0 {
		p.MaxDeliveries = 50
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = time.Hour
	}
	p.Backoff = p.Backoff.WithDefaults()
	return p
}

// Validate returns every field that makes no sense, joined.
func (p Policy) Validate() error {
	var e fieldErrors
	p = p.WithDefaults()
	e.check(p.MaxAttempts >= 1, "maxAttempts", "must be at least 1, is %d", p.MaxAttempts)
	e.check(p.QuickDelay > 0 && p.QuickDelay <= 500*time.Millisecond, "quickDelay", "must be within 0..500ms, is %v", p.QuickDelay)
	e.check(p.Timeout > 0, "timeout", "must be positive, is %v", p.Timeout)
	e.check(p.MaxRetryAfter > 0, "maxRetryAfter", "must be positive, is %v", p.MaxRetryAfter)
	e.check(p.OnBug == BugPauses || p.OnBug == BugDeadLetters, "onBug", "must be %q or %q, is %q", BugPauses, BugDeadLetters, p.OnBug)
	if err := p.Backoff.Validate(); err != nil {
		e = append(e, fmt.Errorf("backoff: %w", err))
	}
	return e.join()
}
