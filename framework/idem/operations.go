package idem

import (
	"context"
	"errors"
	"time"
)

// Operations is what operators and their tools need of a store beside the dead
// letters: who did what, which consumers are to stand still, who runs where,
// what became of a key. Every time is the database's. Texts for people are made
// fit for the database.
type Operations interface {
	// Audit writes entries inside tx: an action and the note of it are one.
	Audit(ctx context.Context, tx Tx, entries ...AuditEntry) error
	// ListAudit returns entries, newest first.
	ListAudit(ctx context.Context, q AuditQuery) ([]AuditEntry, error)

	// SetControl writes what a consumer is to do, inside tx, under the next version.
	SetControl(ctx context.Context, tx Tx, c Control) error
	// ListControls returns all that were ever written, by consumer.
	ListControls(ctx context.Context) ([]Control, error)

	// Announce stores what running consumers say of themselves, in place of
	// what the same instance said before.
	Announce(ctx context.Context, ps ...Presence) error
	// ListPresence returns what was said, by consumer and instance.
	ListPresence(ctx context.Context) ([]Presence, error)

	// Sight counts duplicates. A key keeps at most [MaxSightings] different
	// ones; what comes beyond is counted under its cause without source and id.
	Sight(ctx context.Context, ss ...Sighting) error
	// ListSightings returns those of a key, oldest first.
	ListSightings(ctx context.Context, consumer, key string) ([]Sighting, error)
	// FindRecords returns what the consumers remember of a key, by consumer.
	FindRecords(ctx context.Context, key string) ([]FoundRecord, error)

	// SaveJob stores a job inside tx if the stored one has the version
	// before j.Version (none for version 1), else it returns [ErrJobMoved].
	SaveJob(ctx context.Context, tx Tx, j Job) error
	// GetJob returns a job, or [ErrNotFound].
	GetJob(ctx context.Context, id string) (Job, error)
	// ListJobs returns at most limit jobs, newest first.
	ListJobs(ctx context.Context, limit int) ([]Job, error)

	// ListOutbox returns up to limit unpublished rows in the order of writing,
	// without payloads.
	ListOutbox(ctx context.Context, limit int) ([]OutboxEntry, error)
	// Condition reports on the database itself.
	Condition(ctx context.Context) (Condition, error)
	// Tidy removes up to limit sightings whose keys are forgotten, and
	// instances that were silent for [PresenceKept]. It returns how many rows
	// it removed.
	Tidy(ctx context.Context, limit int) (int, error)
}

// MaxSightings bounds the different sightings that are kept of a key.
const MaxSightings = 32

// PresenceKept is how long an instance that fell silent is still shown.
const PresenceKept = 7 * 24 * time.Hour

// ErrJobMoved says that somebody else has worked on the job meanwhile.
var ErrJobMoved = errors.New("idem: job was continued by somebody else")

// AuditEntry is one thing that somebody did.
type AuditEntry struct {
	// Seq orders the entries; set by the store, as is At.
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	// Actor is who, Reason why; both as they were given.
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
	// Action is what: a stable word such as dlq.replay, pause, resume.
	Action string `json:"action"`
	// Consumer, DeadLetter and Key say to what, as far as they apply.
	Consumer   string `json:"consumer,omitempty"`
	DeadLetter string `json:"deadLetter,omitempty"`
	Key        string `json:"key,omitempty"`
	// Detail is more for people, without payload.
	Detail string `json:"detail,omitempty"`
}

// AuditQuery selects audit entries; zero fields do not restrict.
type AuditQuery struct {
	Consumer, DeadLetter, Action string
	// Before is the Seq of the last entry of the previous page.
	Before int64
	// Limit is at most 1000; 0 means 100.
	Limit int
}

// Control is what a consumer was told from outside. A version that a running
// application has not seen is obeyed: paused shuts the consumer's gate; not
// paused opens it, whatever had shut it.
type Control struct {
	Consumer string `json:"consumer"`
	Paused   bool   `json:"paused"`
	// Actor and Reason are who paused or resumed it, and why.
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
	// Version counts the changes of this consumer; set by the store, as is ChangedAt.
	Version   int64     `json:"version"`
	ChangedAt time.Time `json:"changedAt"`
}

// Sighting is a duplicate that came: one row for all that are alike.
type Sighting struct {
	Consumer string `json:"consumer"`
	Key      string `json:"key"`
	Cause    Cause  `json:"cause"`
	// MessageID and Source (topic@position) are of the first one.
	MessageID string `json:"messageId"`
	Source    string `json:"source"`
	// Count is how often it came; 0 means once when it is written.
	Count int64 `json:"count"`
	// First and Last are set by the store.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Retention is how long the key is remembered, and so its sightings.
	Retention time.Duration `json:"-"`
}

// FoundRecord is a record of the processed-events table as it stands.
type FoundRecord struct {
	Record
	Consumer, Key string
	// Expires is when it is forgotten; in the past, it counts as absent.
	Expires time.Time
}

// Job is work on many dead letters that can be continued after a crash: how
// far it came is stored in the transaction of each step.
type Job struct {
	ID string `json:"id"`
	// Version is raised by one with every step.
	Version int64 `json:"version"`
	// State is running, done or cancelled.
	State string `json:"state"`
	// Body is the job's own, as JSON.
	Body []byte `json:"body"`
	// StartedAt and UpdatedAt are set by the store.
	StartedAt time.Time `json:"startedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// OutboxEntry is an unpublished row of the outbox as operators see it.
type OutboxEntry struct {
	Seq      int64         `json:"seq"`
	ID       string        `json:"id"`
	Topic    string        `json:"topic"`
	Key      string        `json:"key,omitempty"`
	Bytes    int           `json:"bytes"`
	Attempts int           `json:"attempts"`
	DueIn    time.Duration `json:"dueIn"` // negative when it is overdue
	Leased   bool          `json:"leased"`
}

// Condition is how the database stands.
type Condition struct {
	// Now is the database's clock.
	Now time.Time
	// Version of the tables, and the one that this program has. Tables that
	// were never made have version 0.
	Version, Want int
	// MissingIndexes are indexes that the migrations make and that are gone.
	MissingIndexes []string
}
