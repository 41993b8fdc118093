package idem

import (
	"context"
	"time"
)

// Store keeps the processed-events table, the outbox and the dead letters in
// the database that also holds the business tables, so that all of them change
// in one transaction. All methods are safe for concurrent use by many
// processes; the database's clock decides every time.
type Store interface {
	// Do runs fn in one transaction: commit when fn returns nil, else roll
	// back and return fn's error as it is. An error of BEGIN or COMMIT is
	// wrapped in [ErrStore]; when it cannot be known whether COMMIT took
	// effect, also in [ErrUnknownCommit].
	//
	// The transaction does not end early because ctx is cancelled while
	// COMMIT is under way.
	Do(ctx context.Context, fn func(Tx) error) error

	// Database identifies the database, so that an application can tell
	// whether a transport's queue lives in it; see [Capabilities].
	Database() string
	// Migrate brings the tables to this version; safe from many processes at once.
	Migrate(ctx context.Context) error
	// Ping reports whether the database can be reached now.
	Ping(ctx context.Context) error
	// Sweep removes up to limit records whose retention has passed, and returns
	// how many it removed.
	Sweep(ctx context.Context, limit int) (int, error)
	// Close releases what the store opened itself.
	Close() error

	Outbox
	DeadLetters
	Operations
}

// Tx is a unit of work in progress. It is used by one goroutine at a time.
type Tx interface {
	// Claim locks the record of (Consumer, Key) until the transaction ends,
	// creating it if there is none: the unique constraint arbitrates. When
	// another transaction holds it, Claim waits until that one ends, or
	// returns [ErrInFlight] after a bounded time. A record past its
	// retention counts as absent.
	Claim(ctx context.Context, c Claim) (Record, error)
	// ClaimAll claims many records, in the order given (which is one order for
	// all programs, so that two of them cannot wait for each other), and returns
	// them in that order. Each consumer and key is there once. It is Claim for
	// each of them, in as few statements as the database allows; after an error
	// none is claimed for sure, and the transaction can only be rolled back.
	ClaimAll(ctx context.Context, cs []Claim) ([]Record, error)
	// Save writes the claimed record.
	Save(ctx context.Context, c Claim, u Update) error
	// Emit adds outbox rows; an unpublished row with the same topic and id is
	// left as it is.
	Emit(ctx context.Context, out ...Outgoing) error
	// Park stores a dead letter (or an audited discard). An id that is parked
	// already is left as it is and reported as false. One that was replayed or
	// discarded before takes the new state, reason, class, error, attempts and
	// time of the last failure: the message has failed again.
	Park(ctx context.Context, d DeadLetter) (stored bool, err error)
	// Native is the driver's transaction (pgx.Tx, *sql.Tx, *memory.Tx), for
	// handlers.
	Native() any
}

// Status is the state of a processed-events record.
type Status string

// The states of a record. The zero value is not stored.
const (
	StatusNew       Status = ""          // no record existed before this claim
	StatusPending   Status = "pending"   // failed before, or reopened by a replay; may run
	StatusStarted   Status = "started"   // external effect begun, result not recorded
	StatusDone      Status = "done"      // effect committed
	StatusDead      Status = "dead"      // dead-lettered
	StatusDiscarded Status = "discarded" // discarded with audit
)

// Claim names the record that a unit of work wants to own.
type Claim struct {
	// Consumer and Key are the identity; Key is at most 256 bytes, any bytes.
	Consumer, Key string
	// Fingerprint of the message's content, compared with the record's by the engine.
	Fingerprint string
	// Token identifies this attempt, to resolve an unknown commit.
	Token string
	// MessageID and Source (topic@position) of the delivery, for people.
	MessageID, Source string
	// Retention is how long the record must be kept after its last change.
	Retention time.Duration
}

// Record is a row of the processed-events table as Claim found it.
type Record struct {
	Status      Status
	Fingerprint string
	Token       string
	Attempts    int
	LastError   string
	// Result is what an external call returned.
	Result []byte
	// LeaseLeft is what remains of a started record's lease by the database's
	// clock; zero or less is expired.
	LeaseLeft time.Duration
	// MessageID and Source are those of the claim that was saved last, made
	// fit for people; "" if none was.
	MessageID, Source string
	// FirstSeen and FirstFailed are the database's times; zero if not yet.
	FirstSeen, FirstFailed time.Time
}

// Update is what Save writes. Token, fingerprint, message id and source come
// from the claim; times from the database's clock.
type Update struct {
	Status   Status
	Attempts int
	// LastError is a bounded summary; "" keeps the record's.
	LastError string
	Result    []byte
	// Lease starts or renews a started record's lease; 0 clears it.
	Lease time.Duration
}

// Outgoing is a message to be published by the relay once its transaction has
// committed.
type Outgoing struct {
	// ID is the message id; deterministic, so that a second publish can be
	// recognised downstream.
	ID    string
	Topic string
	// Key orders the relay: rows of one topic and key are published in the
	// order they were written, one at a time. Nil means no order.
	Key     []byte
	Headers []Header
	// Payload may be nil, which is not the same as empty.
	Payload []byte
	// Delay is how long after the commit the row may be published at the
	// earliest; the scheduler of delayed retries is made of this.
	Delay time.Duration
}

// OutboxRow is an outgoing message leased to one relay.
type OutboxRow struct {
	Outgoing
	// Seq is the row's place in the outbox.
	Seq int64
	// Attempts counts earlier leases that did not end in Published.
	Attempts int
	// Lease is the token of this lease; Published and Postponed with another
	// one change nothing.
	Lease string
}

// Outbox is what a relay needs of a store.
type Outbox interface {
	// LeaseOutbox takes up to n publishable rows for the given time: due by
	// the database's clock, not leased, and for each topic and key only when
	// no older row is unpublished (several rows of one key may come together,
	// in order). Many relays may call it at once.
	LeaseOutbox(ctx context.Context, n int, lease time.Duration) ([]OutboxRow, error)
	// Published removes rows.
	Published(ctx context.Context, rows ...OutboxRow) error
	// Postponed gives rows back, to be leased again after the delay.
	Postponed(ctx context.Context, delay time.Duration, rows ...OutboxRow) error
	// OutboxDepth returns the number of unpublished rows and the age of the oldest due one.
	OutboxDepth(ctx context.Context) (rows int, oldest time.Duration, err error)
	// OutboxWake returns a channel that receives (without blocking the
	// sender) when this process committed outbox rows; a hint, never the only signal.
	OutboxWake() <-chan struct{}
}
