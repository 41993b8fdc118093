package idem

import (
	"context"
	"time"
)

// DeadLetter is a message that was given up, with everything needed to
// understand it and to process it after all. Payload, key and user headers are
// byte for byte what the broker delivered.
type DeadLetter struct {
	// ID is deterministic: the same failure stored twice is one dead letter.
	ID       string
	Consumer string
	// Key is the idempotency key, "" when the message had none.
	Key         string
	Fingerprint string
	State       DeadLetterState

	// Reason is a stable word (see the Reason constants), Class the error's class.
	Reason string
	Class  Class
	// Error is a bounded summary without payload.
	Error    string
	Attempts int

	// MessageID, Topic, Position and EnqueuedAt describe the first delivery.
	MessageID, Topic, Position string
	EnqueuedAt                 time.Time
	CorrelationID, TraceParent string

	Envelope Envelope
	Payload  []byte
	// Edits counts how often the payload was changed. Original is what the
	// broker delivered if it was, byte for byte; nil in the dead letter of an
	// edited message that failed again (an earlier one of its key has it).
	Edits    int
	Original []byte

	// FirstFailed and LastFailed are the database's times. Set by the store
	// when zero.
	FirstFailed, LastFailed time.Time
	// Replays counts how often it was replayed.
	Replays int
}

// DeadLetterState is where a dead letter stands.
type DeadLetterState string

// The states of a dead letter.
const (
	DeadLetterParked    DeadLetterState = "parked"    // waiting for somebody
	DeadLetterReplayed  DeadLetterState = "replayed"  // sent back to its consumer
	DeadLetterDiscarded DeadLetterState = "discarded" // given up for good, kept for audit
)

// Reasons of dead letters and discards. Stable words for alerts and filters.
const (
	ReasonExhausted      = "attempts_exhausted"
	ReasonPermanent      = "permanent"
	ReasonInvalid        = "invalid"
	ReasonUndecodable    = "undecodable"
	ReasonMissingKey     = "missing_key"
	ReasonKeyReuse       = "key_reuse"
	ReasonBug            = "bug"
	ReasonUnknownOutcome = "unknown_outcome"
	ReasonIgnored        = "ignored"
	ReasonDeliveryLimit  = "delivery_limit"
)

// DeadLetterQuery selects dead letters; zero fields do not restrict.
type DeadLetterQuery struct {
	Consumer, Topic, Reason, Key string
	Class                        Class
	State                        DeadLetterState
	// Since and Until bound the time of the last failure, Until excluded.
	Since, Until time.Time
	// MinAttempts and MaxAttempts bound the attempts.
	MinAttempts, MaxAttempts int
	// Text is part of the error, the message id or the correlation id; the
	// case of ASCII letters does not count.
	Text string
	// Newest turns the order round. Otherwise the oldest come first.
	Newest bool
	// After is the ID of the last row of the previous page, Through the ID of
	// the last row to return. Both need not match the filters.
	After, Through string
	// Limit is at most 1000; 0 means 100.
	Limit int
}

// DeadLetters is what the dead-letter operations need of a store.
type DeadLetters interface {
	// ListDeadLetters returns a page, without payloads.
	ListDeadLetters(ctx context.Context, q DeadLetterQuery) ([]DeadLetter, error)
	// CountMatching returns how many the query selects, over all pages; After,
	// Through and Limit do not count.
	CountMatching(ctx context.Context, q DeadLetterQuery) (int, error)
	// GetDeadLetter returns one, payload included, or [ErrNotFound].
	GetDeadLetter(ctx context.Context, id string) (DeadLetter, error)
	// CountDeadLetters returns the number of parked ones and the age of the oldest.
	CountDeadLetters(ctx context.Context) (n int, oldest time.Duration, err error)
	// MoveDeadLetter locks the dead letter inside tx, sets its state and
	// returns it as it was before; [ErrNotFound] if there is none. A move to
	// replayed adds one to Replays.
	MoveDeadLetter(ctx context.Context, tx Tx, id string, to DeadLetterState) (DeadLetter, error)
	// EditDeadLetter replaces the payload inside tx and keeps the original. It
	// returns [ErrNotFound] if there is no such dead letter.
	EditDeadLetter(ctx context.Context, tx Tx, id string, payload []byte) error
}
