package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/IBM/sarama"
)

// Config says how to reach Kafka. Only Brokers is required.
type Config struct {
	// Brokers are the bootstrap addresses, "host:port". Required.
	Brokers []string
	// Version is the protocol version spoken, at least 2.1.0. "" means 2.8.0,
	// which Kafka 2.8 to 4.x understand.
	Version string
	// ClientID names this application to the brokers. "" means "idem".
	ClientID string

	// CreateTopics lets EnsureTopics create what is missing, with Partitions
	// and ReplicationFactor; 0 leaves either to the broker (needs Kafka 2.4).
	CreateTopics      bool
	Partitions        int32
	ReplicationFactor int16

	// Window is how many messages of a partition may be fetched at or above
	// the lowest unfinished one: it bounds memory and what is delivered again
	// after a crash. A message that stays unfinished stops its partition when
	// the window behind it is full. 0 means 1000.
	Window int
	// WindowBytes bounds the unfinished bytes of a partition likewise, not
	// counting the one message that goes beyond. 0 means 16 MiB.
	WindowBytes int
	// MaxMessageBytes bounds key, headers and payload of a published message
	// together; the topic's max.message.bytes must be at least 48 KiB larger.
	// 0 means 1,000,000, which suits Kafka's default.
	MaxMessageBytes int

	// SessionTimeout is how long the group waits for a silent member before it
	// gives its partitions to others. 0 means 10 s. Brokers refuse less than
	// their group.min.session.timeout.ms (6 s).
	SessionTimeout time.Duration
	// RebalanceTimeout is how long a rebalance waits for a member. A handler
	// that runs when its partition is taken away may go on for half of it, at
	// most 5 s, before its context is cancelled. 0 means 30 s.
	RebalanceTimeout time.Duration
	// CloseTimeout is how long closing a subscriber waits for unsettled
	// messages before it cancels their contexts. 0 means 30 s.
	CloseTimeout time.Duration

	// TLS turns on encryption; nil is plain text.
	TLS *tls.Config
	// Username and Password log in with SASL PLAIN; both empty is no login.
	// Other mechanisms are set with Tune.
	Username, Password string

	// Tune may change what this Config does not name, such as another SASL
	// mechanism or a rack. It is called for each connection, maybe by several
	// goroutines at once. The guarantees depend on what it finds for acks,
	// idempotence, isolation, commits, initial offset and the balance
	// strategy, which must not be a cooperative one: leave those.
	Tune func(*sarama.Config)

	// Logger gets connection trouble; nil means [slog.Default].
	Logger *slog.Logger
}

// recordOverhead is what Kafka's record format may add to key, headers and payload.
const recordOverhead = 40 << 10

func (c Config) withDefaults() Config {
	setDefault(&c.Version, "2.8.0")
	setDefault(&c.ClientID, "idem")
	setDefault(&c.Partitions, -1)
	setDefault(&c.ReplicationFactor, -1)
	setDefault(&c.Window, 1000)
	setDefault(&c.WindowBytes, 16<<20)
	setDefault(&c.MaxMessageBytes, 1_000_000)
	setDefault(&c.SessionTimeout, 10*time.Second)
	setDefault(&c.RebalanceTimeout, 30*time.Second)
	setDefault(&c.CloseTimeout, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate returns everything that is wrong with the configuration, joined,
// each problem with the name of its field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s %s", field, fmt.Sprintf(format, args...)))
		}
	}
	check(len(c.Brokers) > 0, "Brokers", "must name at least one broker, \"host:port\"")
	for i, b := range c.Brokers {
		check(b != "", fmt.Sprintf("Brokers[%d]", i), "is empty")
	}
	version, err := sarama.ParseKafkaVersion(c.Version)
	check(err == nil && version.IsAtLeast(sarama.V2_1_0_0), "Version", "must be a Kafka version of at least 2.1.0, is %q", c.Version)
	check(c.Partitions > 0 || c.Partitions == -1, "Partitions", "must not be negative, is %d", c.Partitions)
	check(c.ReplicationFactor > 0 || c.ReplicationFactor == -1, "ReplicationFactor", "must not be negative, is %d", c.ReplicationFactor)
	if c.CreateTopics && err == nil && !version.IsAtLeast(sarama.V2_4_0_0) {
		check(c.Partitions > 0 && c.ReplicationFactor > 0, "Partitions and ReplicationFactor", "must be set when Version is below 2.4.0")
	}
	check(c.Window > 0, "Window", "must be positive, is %d", c.Window)
	check(c.WindowBytes > 0, "WindowBytes", "must be positive, is %d", c.WindowBytes)
	check(c.MaxMessageBytes > 0, "MaxMessageBytes", "must be positive, is %d", c.MaxMessageBytes)
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"SessionTimeout", c.SessionTimeout}, {"RebalanceTimeout", c.RebalanceTimeout}, {"CloseTimeout", c.CloseTimeout},
	} {
		check(d.value >= 100*time.Millisecond, d.field, "must be at least 100ms, is %v", d.value)
	}
	check(c.Username != "" || c.Password == "", "Username", "is empty while Password is set")
	if len(errs) == 0 {
		for _, s := range []*sarama.Config{c.producer(), c.consumer()} {
			if err := s.Validate(); err != nil {
				errs = append(errs, fmt.Errorf("after Tune: %w", err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kafka: config: %w", err)
	}
	return nil
}
