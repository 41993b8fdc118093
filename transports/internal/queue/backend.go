// Package queue is the message queue that the memory, sqlite and postgres
// transports share: one subscriber and one publisher over a [Backend], which
// knows how one database stores messages and leases.
package queue

import (
	"context"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Backend stores messages and hands them out under leases. Every consumer
// group of a topic has its own delivery of each message; acknowledging removes
// that delivery only. All times are decided by the backend's own clock. All
// methods are safe for concurrent use by many processes.
type Backend interface {
	// Publish appends messages to a topic in one transaction and wakes waiting
	// subscribers.
	Publish(ctx context.Context, topic string, msgs []Message) error
	// Register makes group known to topic; a new group gets every message
	// that is still retained. No message is missed or doubled when it runs at
	// the same moment as Publish.
	Register(ctx context.Context, topic, group string) error
	// Claim leases up to req.N due deliveries, oldest first, adds one to
	// their attempts and returns them. With req.Ordered at most one per
	// ordering key is out at a time and only the oldest of its key is
	// claimed, whether or not that one is leased or delayed.
	Claim(ctx context.Context, req ClaimRequest) ([]Delivery, error)
	// NextDue returns how long it takes until a delayed or leased delivery of
	// the group becomes due, 0 when one just has; ok is false when there is
	// none.
	NextDue(ctx context.Context, topic, group string) (d time.Duration, ok bool, err error)
	// Ack removes deliveries; a lease that was lost is passed over in silence.
	Ack(ctx context.Context, leases ...Lease) error
	// Release gives deliveries back; a lost lease is passed over.
	Release(ctx context.Context, releases ...Release) error
	// Extend prolongs leases and returns those that were lost. It does not
	// wait for a delivery that an open transaction of AckTx holds: that lock
	// is as good as a lease, so such a delivery is neither lost nor an error.
	Extend(ctx context.Context, d time.Duration, leases ...Lease) (lost []Lease, err error)
	// AckTx removes deliveries inside the given native transaction. It returns
	// an error that is [idem.ErrLeaseLost] when a lease is no longer its
	// delivery's, which fences off an owner that was too slow; the others are
	// removed. Never called when Database is "".
	AckTx(ctx context.Context, native any, leases ...Lease) error
	// Wake returns a channel that receives when something was published to
	// the topic. A hint: the subscriber also polls, and looks by itself after
	// it has settled something.
	Wake(topic string) (ch <-chan struct{}, stop func())
	// Clean removes up to limit messages that every group has acknowledged
	// and that are older than the retention.
	Clean(ctx context.Context, retention time.Duration, limit int) (int, error)
	// Depth returns the unacknowledged deliveries of a group and the age of the oldest.
	Depth(ctx context.Context, topic, group string) (n int, oldest time.Duration, err error)
	// Database is [idem.Capabilities].Database.
	Database() string
	// Ping reports whether the database can be reached now.
	Ping(ctx context.Context) error
	// Close releases what the backend opened itself.
	Close() error
}

// Message is what is published.
type Message struct {
	UUID string
	idem.Envelope
	// Payload may be nil, which is not the same as empty.
	Payload []byte
}

// ClaimRequest says what to lease.
type ClaimRequest struct {
	Topic, Group string
	N            int
	Lease        time.Duration
	Ordered      bool
	// Held are the leases of the subscription. A backend that locks out claims
	// (see Options.LocksOutClaims) renews them first, in the same transaction:
	// a handler of ours may just have kept us from it for longer than a lease,
	// and then we would take its message away from it. Nil elsewhere.
	Held []Lease
}

// Lease identifies one leased delivery; Token changes with every claim.
type Lease struct {
	ID    int64
	Group string
	Token string
}

// Delivery is a leased message.
type Delivery struct {
	Lease
	Message
	// Attempt counts claims of this delivery, this one included, less those
	// released uncounted.
	Attempt    int
	EnqueuedAt time.Time
}

// Release says how a delivery is given back.
type Release struct {
	Lease
	After time.Duration
	// Counted leaves the attempt counted.
	Counted bool
}
