package idem

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	nameSQLite   = "sqlite"
	namePostgres = "postgres"
	nameKafka    = "kafka"
	nameMemory   = "memory"
)

// WithDefaults fills the zero fields as their comments say. Defaults and
// Consumers stay: there an absent value means the code's.
func (c Config) WithDefaults() Config {
	c.Transport = cmp.Or(c.Transport, nameSQLite)
	if c.Store == "" {
		switch {
		case c.Transport == nameMemory:
			c.Store = nameMemory
		case c.Transport == namePostgres, c.Transport == nameKafka && c.Postgres.DSN != "":
			c.Store = namePostgres
		default:
			c.Store = nameSQLite
		}
	}
	c.SQLite.Path = cmp.Or(c.SQLite.Path, "idem.db")
	c.SQLite.Synchronous = cmp.Or(c.SQLite.Synchronous, "full")
	c.Postgres.TablePrefix = cmp.Or(c.Postgres.TablePrefix, "idem_")
	c.Postgres.QueueMaxConns = cmp.Or(c.Postgres.QueueMaxConns, 8)
	c.Postgres.ClaimWait = cmp.Or(c.Postgres.ClaimWait, 5*time.Second)
	c.Kafka.Version = cmp.Or(c.Kafka.Version, "2.8.0")
	c.Kafka.ClientID = cmp.Or(c.Kafka.ClientID, "idem")
	c.Kafka.Window = cmp.Or(c.Kafka.Window, 1000)
	c.Kafka.SessionTimeout = cmp.Or(c.Kafka.SessionTimeout, 10*time.Second)
	if c.Kafka.SASL.User != "" {
		c.Kafka.SASL.Mechanism = cmp.Or(c.Kafka.SASL.Mechanism, "PLAIN")
	}
	c.Queue.Lease = cmp.Or(c.Queue.Lease, 30*time.Second)
	c.Queue.PollInterval = cmp.Or(c.Queue.PollInterval, 250*time.Millisecond)
	c.Queue.Retention = cmp.Or(c.Queue.Retention, 168*time.Hour)
	c.Outbox.Batch = cmp.Or(c.Outbox.Batch, 100)
	c.Outbox.PollInterval = cmp.Or(c.Outbox.PollInterval, 200*time.Millisecond)
	c.Outbox.Lease = cmp.Or(c.Outbox.Lease, 30*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 25*time.Second)
	c.SweepEvery = cmp.Or(c.SweepEvery, time.Minute)
	c.Log.Format = cmp.Or(c.Log.Format, "text")
	c.Breakers = maps.Clone(c.Breakers)
	for name, b := range c.Breakers {
		b.Failures = cmp.Or(b.Failures, 5)
		b.OpenFor = cmp.Or(b.OpenFor, 10*time.Second)
		b.Probes = cmp.Or(b.Probes, 1)
		c.Breakers[name] = b
	}
	return c
}

// Apply returns the operation with what is configured for it: first Defaults,
// then the block of its name in Consumers, each over the operation's own
// values; then its topics get their prefix, so apply it once. It checks
// nothing: see [Config.Validate] and [Operation.Validate].
func (c Config) Apply(op Operation) Operation {
	c.Defaults.apply(&op)
	c.Consumers[op.Name].apply(&op)
	op.Topic = c.Topic(op.Topic)
	if op.DeadLetterTopic != "" && op.DeadLetterTopic != NoDeadLetterTopic {
		op.DeadLetterTopic = c.Topic(op.DeadLetterTopic)
	}
	op.Emits = slices.Clone(op.Emits)
	for i, topic := range op.Emits {
		op.Emits[i] = c.Topic(topic)
	}
	return op
}

// Topic returns the broker's name of a topic that code and contracts call name:
// TopicPrefix and name. Producers outside of handlers publish to it; [Emit]
// adds the prefix by itself.
func (c Config) Topic(name string) string { return c.TopicPrefix + name }

// Group returns the consumer group of a consumer at the broker: GroupPrefix and
// name.
func (c Config) Group(name string) string { return c.GroupPrefix + name }

// Classifier returns the classifier with the rules of Classify.
func (c Config) Classifier() Classifier {
	var rules []Rule
	for _, r := range c.Classify {
		rules = append(rules, r.rule())
	}
	return Classifier{Rules: rules}
}

func (r RuleConfig) rule() Rule {
	return Rule{SQLState: r.SQLState, HTTP: r.HTTP, GRPC: r.GRPC, Type: r.Type, Class: r.Class}
}

func (o OperationConfig) apply(op *Operation) {
	override(&op.Concurrency, o.Concurrency)
	override(&op.Transaction, o.Transaction)
	override(&op.Group.Size, o.Group.Size)
	override(&op.Group.Wait, o.Group.Wait)
	override(&op.Group.Budget, o.Group.Budget)
	override(&op.Group.Parallel, o.Group.Parallel)
	override(&op.RatePerSecond, o.RatePerSecond)
	override(&op.Unordered, o.Unordered)
	override(&op.Retention, o.Retention)
	override(&op.DeadLetterTopic, o.DeadLetterTopic)
	override(&op.OnMissingKey, o.OnMissingKey)
	override(&op.OnKeyReuse, o.OnKeyReuse)
	override(&op.Dependency, o.Dependency)
	o.Policy.apply(&op.Policy)
}

func (p PolicyConfig) apply(to *Policy) {
	override(&to.MaxAttempts, p.MaxAttempts)
	override(&to.Quick, orNone(p.Quick))
	override(&to.QuickDelay, p.QuickDelay)
	override(&to.Timeout, p.Timeout)
	override(&to.OnBug, p.OnBug)
	override(&to.MaxDeliveries, orNone(p.MaxDeliveries))
	override(&to.MaxRetryAfter, p.MaxRetryAfter)
	override(&to.Backoff.Base, p.Backoff.Base)
	override(&to.Backoff.Max, p.Backoff.Max)
	override(&to.Backoff.Factor, p.Backoff.Factor)
}

func override[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// orNone turns a configured 0 into what a [Policy] calls none; its 0 is the default.
func orNone(n *int) *int {
	if n != nil && *n == 0 {
		return new(-1)
	}
	return n
}
