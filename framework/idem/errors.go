package idem

import "errors"

// Sentinel errors. Test with errors.Is; they are usually wrapped.
var (
	// ErrInFlight: another attempt holds the key; the message is redelivered.
	ErrInFlight = errors.New("idem: key is being processed by another attempt")
	// ErrKeyReuse: the key was used before with other content.
	ErrKeyReuse = errors.New("idem: key reused with different content")
	// ErrMissingKey: the message has no usable idempotency key.
	ErrMissingKey = errors.New("idem: missing idempotency key")
	// ErrStore: the store failed outside the handler; not the message's fault.
	ErrStore = errors.New("idem: store failed")
	// ErrUnknownCommit: the connection broke during COMMIT; the engine reads back.
	ErrUnknownCommit = errors.New("idem: outcome of commit unknown")
	// ErrLeaseLost: the broker has given the message to somebody else.
	ErrLeaseLost = errors.New("idem: lease lost")
	// ErrShuttingDown: the application is draining.
	ErrShuttingDown = errors.New("idem: shutting down")
	// ErrUnavailable: a circuit breaker is open; costs no attempt.
	ErrUnavailable = errors.New("idem: dependency unavailable")
	// ErrNotFound: no such dead letter.
	ErrNotFound = errors.New("idem: not found")
	// ErrAlreadyDone: a replay was refused because the key is completed.
	ErrAlreadyDone = errors.New("idem: key already completed")
	// ErrNotImplemented: a generated handler has no body yet. It counts as a bug,
	// so by default the consumer pauses and no message is lost.
	ErrNotImplemented = errors.New("idem: handler not implemented")
)
