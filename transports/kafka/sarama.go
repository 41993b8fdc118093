package kafka

import (
	"time"

	"github.com/IBM/sarama"
)

// client holds what publisher and subscribers have in common.
func (c Config) client() *sarama.Config {
	s := sarama.NewConfig()
	s.Version, _ = sarama.ParseKafkaVersion(c.Version)
	s.ClientID = c.ClientID
	s.Net.DialTimeout = 5 * time.Second
	s.Net.WriteTimeout = 10 * time.Second
	// Only the topics in use, and none comes into being because of a typing
	// mistake.
	s.Metadata.Full = false
	s.Metadata.AllowAutoTopicCreation = false
	s.Metadata.RefreshFrequency = time.Minute
	if c.TLS != nil {
		s.Net.TLS.Enable, s.Net.TLS.Config = true, c.TLS
	}
	if c.Username != "" {
		s.Net.SASL.Enable = true
		s.Net.SASL.Mechanism = sarama.SASLTypePlaintext
		s.Net.SASL.User, s.Net.SASL.Password = c.Username, c.Password
	}
	return s
}

func (c Config) producer() *sarama.Config {
	s := c.client()
	s.Producer.RequiredAcks = sarama.WaitForAll
	s.Producer.Idempotent = true
	s.Net.MaxOpenRequests = 1
	s.Producer.Return.Successes = true
	s.Producer.Return.Errors = true
	s.Producer.MaxMessageBytes = c.MaxMessageBytes + recordOverhead
	// About 25 s in all: longer than the election of a new leader takes.
	s.Producer.Retry.Max = 30
	s.Producer.Retry.BackoffFunc = func(retries, _ int) time.Duration {
		return spacing(retries, 100*time.Millisecond, time.Second)
	}
	return c.tuned(s)
}

func (c Config) consumer() *sarama.Config {
	s := c.client()
	// A member waits in JoinGroup until the others have let go.
	s.Net.ReadTimeout = max(s.Net.ReadTimeout, c.RebalanceTimeout+5*time.Second)
	s.Consumer.Return.Errors = true
	s.Consumer.IsolationLevel = sarama.ReadCommitted
	s.Consumer.Offsets.Initial = sarama.OffsetOldest
	s.Consumer.Offsets.AutoCommit.Enable = true
	s.Consumer.Offsets.AutoCommit.Interval = 250 * time.Millisecond
	// Commits and heartbeats share a connection with the fetch and wait for it.
	s.Consumer.MaxWaitTime = 100 * time.Millisecond
	// A partition with a full window holds up the broker's others for this long.
	s.Consumer.MaxProcessingTime = 20 * time.Millisecond
	s.Consumer.Retry.Backoff = 500 * time.Millisecond
	s.ChannelBufferSize = 16
	s.Consumer.Group.Session.Timeout = c.SessionTimeout
	s.Consumer.Group.Heartbeat.Interval = min(c.SessionTimeout/10, time.Second)
	s.Consumer.Group.Rebalance.Timeout = c.RebalanceTimeout
	s.Consumer.Group.Rebalance.Retry.Max = 10
	s.Consumer.Group.Rebalance.Retry.Backoff = 500 * time.Millisecond
	return c.tuned(s)
}

func (c Config) tuned(s *sarama.Config) *sarama.Config {
	if c.Tune != nil {
		c.Tune(s)
	}
	return s
}
