package idem

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Operation is the contract of one consumer: which topic it reads, what makes
// two messages the same, and what happens when one fails. Only Name, Topic and
// Key are required.
type Operation struct {
	// Name is the consumer: the scope of idempotency keys, the consumer group
	// and a log field. It must stay the same over restarts and refactors.
	Name string
	// Topic is the topic consumed.
	Topic string
	// Others are the topic's messages that are for other consumers. They are
	// acknowledged before anything else is looked at, and leave nothing behind.
	// What comes back on the consumer's own retry topic is the consumer's. The zero
	// value is none.
	Others Selector
	// Key says where the idempotency key is.
	Key KeyRecipe
	// OnMissingKey says what happens without a key; "" means MissingDeadLetters.
	OnMissingKey MissingKey
	// OnKeyReuse says what happens to a message whose key was used before with
	// another fingerprint; "" means ReuseDeadLetters.
	OnKeyReuse KeyReuse
	// Fingerprint says what two messages with one key must share; the zero
	// value is the whole payload.
	Fingerprint Fingerprint
	// Transaction is the mode; "" means TransactionOwn.
	Transaction TransactionMode
	// Group bounds the transactions that messages share in TransactionGroup.
	Group Group
	// Unordered gives up the order by key: a failed message no longer holds
	// back later ones with its key while it waits.
	Unordered bool
	// Policy bounds retries.
	Policy Policy
	// Retention is how long a processed key is remembered. 0 means 192 h, a day
	// more than the queues keep messages.
	Retention time.Duration
	// DeadLetterTopic gets a copy of each dead letter; "" means Topic + ".dlq".
	// NoDeadLetterTopic keeps them in the store only.
	DeadLetterTopic string
	// Concurrency is the number of messages in flight in this process. 0 means 8,
	// and enough to fill the transactions of TransactionGroup.
	Concurrency int
	// RatePerSecond limits handler runs per second in this process; 0 is unlimited.
	RatePerSecond float64
	// Dependency names the circuit breaker that guards the handler; "" is none.
	Dependency string
	// Emits lists the topics the handler may emit to; nil allows every topic.
	Emits []string
	// LogFields maps a log field to the JSON pointer of the payload value it
	// shows, such as "pedido_id": "/pedidoId". Name no personal data here.
	LogFields map[string]string
}

// NoDeadLetterTopic as a DeadLetterTopic keeps dead letters in the store only.
const NoDeadLetterTopic = "-"

// TransactionMode is how handler and record share transactions.
type TransactionMode string

// The transaction modes.
const (
	// TransactionOwn: one database transaction holds claim, effect, outbox rows and mark.
	TransactionOwn TransactionMode = "own"
	// TransactionGroup: messages that are in flight together share one such
	// transaction, which is many times faster where handlers are quick. Handlers
	// run in it one after the other. When one fails, all is rolled back, the
	// others run again without it, and it is judged in a transaction of its own:
	// so a handler may be called more often than its attempts say.
	TransactionGroup TransactionMode = "group"
	// TransactionExternal: for effects outside the database. The intent is
	// committed before the call, the result after it; see [RegisterExternal].
	TransactionExternal TransactionMode = "external"
)

// MissingKey says what happens to a message without a usable key.
type MissingKey string

// The missing-key policies.
const (
	// MissingDeadLetters: the message becomes a dead letter.
	MissingDeadLetters MissingKey = "deadletter"
	// MissingFails: the consumer pauses, as for a bug.
	MissingFails MissingKey = "fail"
	// MissingDerives: the message id, else the broker's position, is the key.
	// That recognises redeliveries, not a producer that sends twice.
	MissingDerives MissingKey = "derive"
)

// KeyReuse says what happens to a message that has the key of another one but
// not its content. Neither policy runs the handler or touches the first one's record.
type KeyReuse string

// The key-reuse policies.
const (
	// ReuseDeadLetters: the message becomes a dead letter.
	ReuseDeadLetters KeyReuse = "deadletter"
	// ReuseDiscards: the message is discarded with audit. For producers known to
	// send the same event again in other words, when the first one is to count.
	ReuseDiscards KeyReuse = "discard"
)

// RetryTopic is the topic on which a consumer's delayed retries and replays
// come back; only that consumer reads it.
func (o Operation) RetryTopic() string { return o.Topic + ".retry." + o.Name }

func (o Operation) withDefaults() Operation {
	if o.OnMissingKey == "" {
		o.OnMissingKey = MissingDeadLetters
	}
	if o.OnKeyReuse == "" {
		o.OnKeyReuse = ReuseDeadLetters
	}
	if o.Transaction == "" {
		o.Transaction = TransactionOwn
	}
	if o.Retention == 0 {
		o.Retention = 192 * time.Hour
	}
	if o.DeadLetterTopic == "" {
		o.DeadLetterTopic = o.Topic + ".dlq"
	}
	o.Group = o.Group.withDefaults()
	if o.Concurrency == 0 {
		o.Concurrency = 8
		if o.Transaction == TransactionGroup {
			o.Concurrency = o.Group.Size * o.Group.Parallel
		}
	}
	o.Policy = o.Policy.WithDefaults()
	return o
}

// Validate returns every problem of the operation, joined.
func (o Operation) Validate() error {
	o = o.withDefaults()
	var e fieldErrors
	e.check(validName(o.Name), "name", "must be 1 to 120 letters, digits, '.', '_' or '-', is %q", o.Name)
	e.check(validName(o.Topic), "topic", "must be 1 to 120 letters, digits, '.', '_' or '-', is %q", o.Topic)
	if err := o.Others.Validate(); err != nil {
		e = append(e, fmt.Errorf("others: %w", err))
	}
	if err := o.Key.Validate(); err != nil {
		e = append(e, fmt.Errorf("key: %w", err))
	}
	e.check(o.Key.Fingerprint == nil, "key.fingerprint", "must be nil, it is for previous recipes: set Fingerprint of the operation")
	switch o.OnMissingKey {
	case MissingDeadLetters, MissingFails, MissingDerives:
	default:
		e.check(false, "onMissingKey", "must be %q, %q or %q, is %q", MissingDeadLetters, MissingFails, MissingDerives, o.OnMissingKey)
	}
	switch o.OnKeyReuse {
	case ReuseDeadLetters, ReuseDiscards:
	default:
		e.check(false, "onKeyReuse", "must be %q or %q, is %q", ReuseDeadLetters, ReuseDiscards, o.OnKeyReuse)
	}
	switch o.Transaction {
	case TransactionOwn, TransactionGroup, TransactionExternal:
	default:
		e.check(false, "transaction", "must be %q, %q or %q, is %q", TransactionOwn, TransactionGroup, TransactionExternal, o.Transaction)
	}
	if err := o.Group.validate(); err != nil {
		e = append(e, fmt.Errorf("group: %w", err))
	}
	if err := o.Fingerprint.Validate(); err != nil {
		e = append(e, fmt.Errorf("fingerprint: %w", err))
	}
	if err := o.Policy.Validate(); err != nil {
		e = append(e, fmt.Errorf("policy: %w", err))
	}
	e.check(o.Retention > 0, "retention", "must be positive, is %v", o.Retention)
	e.check(o.Concurrency > 0, "concurrency", "must be positive, is %d", o.Concurrency)
	e.check(o.RatePerSecond >= 0, "ratePerSecond", "must not be negative, is %v", o.RatePerSecond)
	if o.DeadLetterTopic != NoDeadLetterTopic {
		e.check(validName(o.DeadLetterTopic), "deadLetterTopic", "is not a topic name: %q", o.DeadLetterTopic)
		e.check(o.DeadLetterTopic != o.Topic && o.DeadLetterTopic != o.RetryTopic(), "deadLetterTopic", "is the topic that is consumed: dead letters would come back for ever")
	}
	for name, ptr := range o.LogFields {
		e.check(strings.HasPrefix(ptr, "/"), "logFields."+name, "must be a JSON pointer that starts with '/', is %q", ptr)
	}
	if err := e.join(); err != nil {
		return fmt.Errorf("operation %q: %w", o.Name, err)
	}
	return nil
}

func validName(s string) bool {
	if s == "" || len(s) > 120 {
		return false
	}
	for _, r := range s {
		ok := r == '.' || r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !ok {
			return false
		}
	}
	return true
}

// fieldErrors collects what is wrong with a configuration, each with its path.
type fieldErrors []error

func (e *fieldErrors) check(ok bool, field, format string, args ...any) {
	if !ok {
		*e = append(*e, fmt.Errorf("%s %s", field, fmt.Sprintf(format, args...)))
	}
}

func (e fieldErrors) join() error { return errors.Join(e...) }
