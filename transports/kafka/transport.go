package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Transport is the connection to one Kafka cluster. It connects when it is
// first used. Safe for concurrent use.
//
// [idem.Delivery.Attempt] counts deliveries since this process got the
// partition, because Kafka itself does not count; Position is
// "partition/offset".
type Transport struct {
	cfg       Config
	publisher *publisher
}

var _ idem.Transport = (*Transport)(nil)

// New checks the configuration; it does not connect.
func New(cfg Config) (*Transport, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &Transport{cfg: cfg, publisher: newPublisher(cfg)}, nil
}

// Name returns "kafka".
func (t *Transport) Name() string { return "kafka" }

// Capabilities says what Kafka can do. The retention depends on the topic and
// is not asked for.
func (t *Transport) Capabilities() idem.Capabilities {
	return idem.Capabilities{
		OrderedByKey:    true,
		ConsumerGroups:  true,
		MaxMessageBytes: t.cfg.MaxMessageBytes,
	}
}

// Publisher returns the shared publisher. One Publish sends its messages as a
// batch, with an idempotent producer and the acknowledgement of all in-sync
// replicas; it is not atomic. Messages with one key keep their order.
func (t *Transport) Publisher() message.Publisher { return t.publisher }

// Subscriber makes the subscriber of a consumer group. Each Subscribe is a
// member of the group and has its own bound on unsettled messages.
func (t *Transport) Subscriber(cfg idem.SubscriberConfig) (message.Subscriber, error) {
	if cfg.Group == "" {
		return nil, errors.New("kafka: subscriber: Group is required")
	}
	if cfg.Concurrency < 0 {
		return nil, fmt.Errorf("kafka: subscriber of group %q: Concurrency must not be negative, is %d", cfg.Group, cfg.Concurrency)
	}
	return newSubscriber(t.cfg, cfg), nil
}

// Ping asks the brokers in turn until one answers, over a connection of its own.
func (t *Transport) Ping(ctx context.Context) error {
	return inTime(ctx, func() error {
		cfg := t.cfg.tuned(t.cfg.client())
		if deadline, ok := ctx.Deadline(); ok {
			left := max(time.Until(deadline), time.Millisecond)
			cfg.Net.DialTimeout, cfg.Net.ReadTimeout, cfg.Net.WriteTimeout = left, left, left
		}
		return reach(t.cfg.Brokers, cfg)
	})
}

// Close disconnects the publisher after the calls under way. Subscribers are
// closed before.
func (t *Transport) Close() error { return t.publisher.shutdown() }

// reach returns nil as soon as one of the brokers has answered a request.
func reach(addrs []string, cfg *sarama.Config) error {
	var errs []error
	for _, addr := range addrs {
		err := ask(addr, cfg)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("kafka: broker %s: %w", addr, err))
	}
	return errors.Join(errs...)
}

func ask(addr string, cfg *sarama.Config) error {
	broker := sarama.NewBroker(addr)
	if err := broker.Open(cfg); err != nil {
		return err
	}
	if _, err := broker.Connected(); err != nil {
		return err
	}
	_, err := broker.GetMetadata(sarama.NewMetadataRequest(cfg.Version, []string{}))
	return errors.Join(err, broker.Close())
}

// inTime runs a call that knows no context. When ctx ends first, the call goes
// on in the background until its own time-outs end it.
func inTime(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("kafka: no answer in time: %w", context.Cause(ctx))
	}
}
