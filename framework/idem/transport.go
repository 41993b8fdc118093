package idem

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Transport connects idem to one broker. It gives Watermill publishers and
// subscribers and says in [Capabilities] what Watermill's interfaces do not.
// All methods are safe for concurrent use.
type Transport interface {
	// Name is the transport's short name: "kafka", "postgres", …
	Name() string
	// Capabilities says what the broker can do; constant over the transport's life.
	Capabilities() Capabilities
	// Publisher is shared by everyone; only Close of the transport closes it.
	// Publish returns nil only after the broker has confirmed every message,
	// and honours [EnvelopeOf] each message.
	Publisher() message.Publisher
	// Subscriber makes the subscriber of one consumer group; see
	// [SubscriberConfig] for what it must do.
	Subscriber(SubscriberConfig) (message.Subscriber, error)
	// EnsureTopics creates the topics that are missing, where the broker needs
	// that and the configuration allows it.
	EnsureTopics(ctx context.Context, topics ...string) error
	// Ping reports whether the broker can be reached now.
	Ping(ctx context.Context) error
	// Close releases the connections. Subscribers are closed before.
	Close() error
}

// Capabilities is what an application must know of a broker before it starts.
type Capabilities struct {
	// DurableDelay: a delay given to [Delivery.Redeliver] may be long and does
	// not hold back other messages, so no copy to a retry topic is needed.
	DurableDelay bool
	// OrderedByKey: messages with one ordering key are delivered one at a time
	// and in order, redeliveries included.
	OrderedByKey bool
	// ConsumerGroups: each group gets every message, members share them.
	ConsumerGroups bool
	// Database identifies the database that holds the queue ("" for a broker).
	// When the store's [Store.Database] is the same, acknowledgements ride in
	// the handler's transaction.
	Database string
	// MaxMessageBytes bounds key, headers and payload together; 0 is unknown.
	MaxMessageBytes int
	// MaxDeliveries is the broker's own cap on deliveries of one message,
	// after which it drops or moves it; 0 is none.
	MaxDeliveries int
	// Retention is how long the broker can deliver a message again; 0 is unknown.
	Retention time.Duration
}

// SubscriberConfig tells a transport how to feed one consumer.
//
// The subscriber's contract: every emitted message carries a [Delivery] in its
// context; at most Concurrency messages of a subscription are unsettled at once; nothing is
// fetched while the Gate is shut; the lease is extended for as long as the
// message is unsettled, and when it is lost the message's context is cancelled
// with cause [ErrLeaseLost]; a Nack honours [Delivery.Redeliver] and is never a
// hot loop; a payload that cannot be decoded is delivered as it is, never an
// error of the subscription; the context given to Subscribe ends intake only,
// never the context of a message in hand. Close stops intake, gives back what
// was fetched and not emitted, waits for unsettled messages and closes the
// channel.
type SubscriberConfig struct {
	// Group is the consumer group; required.
	Group string
	// Concurrency is the highest number of unsettled messages; 0 means 1.
	Concurrency int
	// Ordered asks for order by key, redeliveries included.
	Ordered bool
	// Gate stops intake while it is shut; nil means always open.
	Gate *Gate
	// Lease is how long a message stays hidden from other members when its
	// owner dies; 0 means 30 s. Brokers with sessions instead of leases ignore it.
	Lease time.Duration
	// Step is told when the broker has let a message go for this group
	// ([StepAcked]) or has it back ([StepGivenBack]); nil is none.
	Step StepFunc
	// Logger is never nil when it comes from an App.
	Logger *slog.Logger
}

// Delivery is one handing-over of a message by a broker: where it stands, how
// often it came, and how to settle it beyond Watermill's Ack and Nack.
type Delivery struct {
	// Topic and Group say which subscription delivered it.
	Topic, Group string
	// Position is the message's place in the topic: "partition/offset" or a row id.
	Position string
	// Envelope is key and headers exactly as received.
	Envelope Envelope
	// Attempt counts deliveries to this group, from 1; 0 means the broker
	// does not say. Deliveries given back uncounted do not count.
	Attempt int
	// EnqueuedAt is when the broker took the message; zero means unknown.
	EnqueuedAt time.Time
	// NewSession: the message has not been delivered in this session before.
	// Set by brokers that hand messages to sessions (such as the ownership of
	// a partition); a message that was processed already then came back with a
	// rebalance.
	NewSession bool
	// AckTx acknowledges this delivery, and others of the same subscription,
	// inside the handler's transaction, given the store's native transaction. Nil
	// where queue and store are not one database. After the commit each message is
	// acked as usual, which then is a no-op. An error that is [ErrLeaseLost] says
	// that at least one of them is not ours any more; the rest are acknowledged.
	AckTx func(ctx context.Context, native any, others ...*Delivery) error
	// Ref is the transport's own.
	Ref any

	mu        sync.Mutex
	after     time.Duration
	uncounted bool
	asked     bool
}

// Redeliver says when the message should come back; it takes effect with the
// Nack that follows. A delivery that is not counted leaves Attempt as it was.
func (d *Delivery) Redeliver(after time.Duration, counted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after, d.uncounted, d.asked = max(after, 0), !counted, true
}

// Redelivery returns what Redeliver was given; asked is false when it was not
// called, and the transport then spaces the redelivery by itself.
func (d *Delivery) Redelivery() (after time.Duration, counted, asked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.after, !d.uncounted, d.asked
}

type deliveryKey struct{}

// WithDelivery returns a context that carries d; for transports.
func WithDelivery(ctx context.Context, d *Delivery) context.Context {
	return context.WithValue(ctx, deliveryKey{}, d)
}

// DeliveryFrom returns the delivery of a message's context. A message from a
// subscriber that is not one of ours has none.
func DeliveryFrom(ctx context.Context) (*Delivery, bool) {
	d, ok := ctx.Value(deliveryKey{}).(*Delivery)
	return d, ok
}
