package idem

import (
	"log/slog"
	"time"
)

// Config is what of an application is configured from outside: the broker, the
// database, and per consumer what overrides its [Operation]. It is plain data;
// package config reads it from idem.yaml, the environment and flags, and its
// sample is made of the comments below. The zero value is a working
// configuration on one SQLite file. Printing and logging a Config shows no
// password. Safe for concurrent reading.
type Config struct {
	// Broker of the messages: sqlite, postgres, kafka or memory. Empty means
	// sqlite.
	Transport string `yaml:"transport"`
	// Database of keys, outbox and dead letters: sqlite, postgres or memory.
	// Empty means the transport's own database; for kafka that is postgres if
	// postgres.dsn is set, else sqlite.
	Store string `yaml:"store"`

	// Beginning of the name of every topic that is consumed, emitted to or gets
	// dead letters, such as test. or eu-: up to 60 letters, digits, dots,
	// underscores and hyphens. Code and contracts leave it out. Empty means none.
	TopicPrefix string `yaml:"topicPrefix"`
	// Beginning of the name of every consumer group at the broker, written like
	// topicPrefix. The records of keys keep the consumers' names. Empty means
	// none.
	GroupPrefix string `yaml:"groupPrefix"`

	// SQLite as transport or store.
	SQLite struct {
		// File of the database, made when it is missing. Empty means idem.db.
		Path string `yaml:"path"`
		// What a commit waits for: full survives a loss of power, normal is
		// faster and may then lose the last commits. Empty means full.
		Synchronous string `yaml:"synchronous"`
	} `yaml:"sqlite"`

	// PostgreSQL as transport or store.
	Postgres struct {
		// Connection string, as a URL or as key=value. Required by transport
		// and store postgres. Keep its password out of files:
		// postgres://app:${DB_PASSWORD}@db/app.
		DSN DSN `yaml:"dsn"`
		// Schema of the tables. Empty means the connection's search_path.
		Schema string `yaml:"schema"`
		// Beginning of the names of all tables: lower-case letters, digits
		// and underscores, at most 30. Empty means idem_.
		TablePrefix string `yaml:"tablePrefix"`
		// Size of the store's connection pool, which handlers share. 0 leaves
		// it to the DSN's pool_max_conns, else 4 or the number of CPUs if
		// that is more.
		MaxConns int `yaml:"maxConns"`
		// Size of the queue's own connection pool, at least 2. 0 means 8.
		QueueMaxConns int `yaml:"queueMaxConns"`
		// How long a message waits for another attempt that holds its key. 0
		// means 5 s.
		ClaimWait time.Duration `yaml:"claimWait"`
	} `yaml:"postgres"`

	// Kafka as transport.
	Kafka struct {
		// Bootstrap addresses, each host:port. Required by transport kafka.
		Brokers []string `yaml:"brokers"`
		// Protocol version to speak, at least 2.1.0. Empty means 2.8.0, which
		// Kafka 2.8 to 4.x understand.
		Version string `yaml:"version"`
		// Name of this application at the brokers. Empty means idem.
		ClientID string `yaml:"clientId"`
		// Whether missing topics are created at the start.
		CreateTopics bool `yaml:"createTopics"`
		// Partitions of a created topic. 0 leaves it to the broker.
		Partitions int `yaml:"partitions"`
		// Replicas of a created topic. 0 leaves it to the broker.
		ReplicationFactor int `yaml:"replicationFactor"`
		// How many messages of a partition may be fetched beyond its lowest
		// unfinished one. 0 means 1000.
		Window int `yaml:"window"`
		// How long the group waits for a silent member. Brokers refuse less
		// than their group.min.session.timeout.ms. 0 means 10 s.
		SessionTimeout time.Duration `yaml:"sessionTimeout"`
		// Encryption of the connections.
		TLS struct {
			// Whether connections are encrypted.
			Enabled bool `yaml:"enabled"`
			// PEM file of the authorities to trust. Empty means the system's.
			CAFile string `yaml:"caFile"`
		} `yaml:"tls"`
		// Login at the brokers.
		SASL struct {
			// PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Empty means PLAIN if
			// there is a user, else no login.
			Mechanism string `yaml:"mechanism"`
			// Name to log in with.
			User string `yaml:"user"`
			// Password to log in with. Keep it out of files: ${KAFKA_PASSWORD}.
			Password Secret `yaml:"password"`
		} `yaml:"sasl"`
	} `yaml:"kafka"`

	// Queue of the transports sqlite, postgres and memory.
	Queue struct {
		// How long a message stays hidden when its owner dies, at least 50 ms.
		// 0 means 30 s.
		Lease time.Duration `yaml:"lease"`
		// How long an idle consumer waits before it looks by itself. 0 means
		// 250 ms.
		PollInterval time.Duration `yaml:"pollInterval"`
		// How long acknowledged messages are kept for consumers that are yet
		// to come. 0 means 7 days.
		Retention time.Duration `yaml:"retention"`
	} `yaml:"queue"`

	// Relay that publishes what handlers emitted.
	Outbox struct {
		// How many messages are published at once. 0 means 100.
		Batch int `yaml:"batch"`
		// How often messages of other processes are looked for. 0 means
		// 200 ms.
		PollInterval time.Duration `yaml:"pollInterval"`
		// How long messages stay hidden from other relays when this one dies.
		// 0 means 30 s.
		Lease time.Duration `yaml:"lease"`
	} `yaml:"outbox"`

	// How long handlers may finish after the application was told to stop. 0
	// means 25 s.
	DrainTimeout time.Duration `yaml:"drainTimeout"`
	// How often expired keys are removed. 0 means 1 min.
	SweepEvery time.Duration `yaml:"sweepEvery"`

	// What the application writes to its log.
	Log struct {
		// Least level written: debug, info, warn or error. The zero value is
		// info.
		Level slog.Level `yaml:"level"`
		// Format of the lines: text or json. Empty means text.
		Format string `yaml:"format"`
	} `yaml:"log"`

	// Circuit breakers by the name of the dependency they guard.
	Breakers map[string]BreakerConfig `yaml:"breakers"`
	// Classes of errors, looked at in order and before what idem knows by
	// itself.
	Classify []RuleConfig `yaml:"classify"`

	// Settings of every consumer; they override what the code says. A key
	// that is absent changes nothing.
	Defaults OperationConfig `yaml:"defaults"`
	// Settings of single consumers by name, with the keys of defaults, which
	// they override.
	Consumers map[string]OperationConfig `yaml:"consumers"`
}

// BreakerConfig configures the circuit breaker of one dependency.
type BreakerConfig struct {
	// Failures in a row that open the breaker. 0 means 5.
	Failures int `yaml:"failures"`
	// How long it stays open before a probe. 0 means 10 s.
	OpenFor time.Duration `yaml:"openFor"`
	// How many messages may pass while it is half open. 0 means 1.
	Probes int `yaml:"probes"`
}

// RuleConfig is the part of a [Rule] that can be configured: errors that meet
// every condition that is set get the class. At least one must be.
type RuleConfig struct {
	// SQLSTATE code such as 40001, or the beginning of one.
	SQLState string `yaml:"sqlState"`
	// HTTP status such as 409, or a class of them such as 5xx.
	HTTP string `yaml:"http"`
	// Name of a gRPC status code, such as NotFound.
	GRPC string `yaml:"grpc"`
	// Part of the error's Go type, such as stripe.Error.
	Type string `yaml:"type"`
	// One of transient, rate_limited, invalid, permanent, ignorable, bug,
	// dependency_unavailable and shutting_down. Required.
	Class Class `yaml:"class"`
}

// OperationConfig overrides fields of an [Operation]; nil fields leave them
// alone. A value counts as it is written: there is no special zero.
type OperationConfig struct {
	// Messages in flight in one process, 1 to 10000. With transaction group the
	// default is enough to fill the transactions.
	Concurrency *int `yaml:"concurrency"`
	// Whether each message has a transaction of its own, or a group of messages
	// share one, which is many times faster where handlers are quick. Consumers of
	// external effects and of batches have a mode of their own, whatever this says.
	Transaction *TransactionMode `yaml:"transaction"`
	// Bounds of the transactions that messages share.
	Group GroupConfig `yaml:"group"`
	// Handler runs per second in one process; 0 is unlimited.
	RatePerSecond *float64 `yaml:"ratePerSecond"`
	// Whether a failed message lets later ones with its key pass.
	Unordered *bool `yaml:"unordered"`
	// How long a processed key is remembered.
	Retention *time.Duration `yaml:"retention"`
	// Topic that gets a copy of each dead letter, without topicPrefix. Empty
	// means the consumed topic's name with .dlq, - keeps them in the store only.
	DeadLetterTopic *string `yaml:"deadLetterTopic"`
	// What happens without a key: deadletter, fail (pauses the consumer) or
	// derive (recognises redeliveries only).
	OnMissingKey *MissingKey `yaml:"onMissingKey"`
	// What happens when a key comes again with other content: deadletter or
	// discard (with audit).
	OnKeyReuse *KeyReuse `yaml:"onKeyReuse"`
	// Name of the circuit breaker that guards the handler, as in breakers.
	// Empty is none.
	Dependency *string `yaml:"dependency"`
	// Bounds of the retries.
	Policy PolicyConfig `yaml:"policy"`
}

// GroupConfig overrides fields of a [Group]; nil fields leave them alone.
type GroupConfig struct {
	// Most messages in one transaction.
	Size *int `yaml:"size"`
	// How long a transaction waits for more messages while the consumer is busy.
	Wait *time.Duration `yaml:"wait"`
	// How long the handlers of one transaction may run together; a handler that
	// takes longer gets a transaction of its own.
	Budget *time.Duration `yaml:"budget"`
	// Shared transactions at a time in one process.
	Parallel *int `yaml:"parallel"`
}

// PolicyConfig overrides fields of a [Policy]; nil fields leave them alone.
type PolicyConfig struct {
	// How often the handler may run with a fault that is the message's; 1 is
	// no retry.
	MaxAttempts *int `yaml:"maxAttempts"`
	// How many of the retries may happen at once in the process that holds
	// the message; 0 is none.
	Quick *int `yaml:"quick"`
	// Longest delay before such a retry, at most 500 ms.
	QuickDelay *time.Duration `yaml:"quickDelay"`
	// Bound of one handler run.
	Timeout *time.Duration `yaml:"timeout"`
	// What a bug does in the end: pause (the consumer) or deadletter.
	OnBug *BugPolicy `yaml:"onBug"`
	// Deliveries without any outcome after which a message is parked; 0 is no
	// limit.
	MaxDeliveries *int `yaml:"maxDeliveries"`
	// Longest wait that a dependency may ask for.
	MaxRetryAfter *time.Duration `yaml:"maxRetryAfter"`
	// Delays of the other retries.
	Backoff struct {
		// Longest delay after the first attempt.
		Base *time.Duration `yaml:"base"`
		// Longest delay of all.
		Max *time.Duration `yaml:"max"`
		// How much the longest delay grows with each attempt; 1 is not at all.
		Factor *float64 `yaml:"factor"`
	} `yaml:"backoff"`
}
