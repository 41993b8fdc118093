package idem

// Class says whose fault an error is, which decides what happens next; see
// [Decide].
type Class string

// The error classes. The zero value is no error.
const (
	// ClassNone: no error.
	ClassNone Class = ""
	// ClassTransient: may pass by itself (a timeout). Counts as an attempt.
	ClassTransient Class = "transient"
	// ClassRateLimited: told to slow down (HTTP 429). Not an attempt.
	ClassRateLimited Class = "rate_limited"
	// ClassInvalid: the message breaks its contract. Never retried.
	ClassInvalid Class = "invalid"
	// ClassPermanent: will never succeed. Never retried.
	ClassPermanent Class = "permanent"
	// ClassIgnorable: nothing to do; discarded with audit.
	ClassIgnorable Class = "ignorable"
	// ClassBug: the handler is wrong (panic). Pauses the consumer.
	ClassBug Class = "bug"
	// ClassUnavailable: a dependency or the database is down. Not an attempt.
	ClassUnavailable Class = "dependency_unavailable"
	// ClassShutdown: we are stopping, or lost the lease. Not an attempt.
	ClassShutdown Class = "shutting_down"
)
