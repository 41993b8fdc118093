package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
)

var errClosed = errors.New("kafka: the transport is closed")

// publisher sends all messages of a call in one go. It connects at the first
// call, so that an application starts while the brokers are away.
type publisher struct {
	cfg Config

	mu      sync.Mutex
	closed  bool
	calls   sync.WaitGroup
	connect func() (*producer, error) // shared by concurrent calls, renewed when it failed
	current *producer                 // nil until connected
}

func newPublisher(cfg Config) *publisher {
	p := &publisher{cfg: cfg}
	p.connect = sync.OnceValues(p.dial)
	return p
}

// Publish returns nil once all in-sync replicas have every message. After an
// error any of them may have been stored; the error names the causes. It
// returns early when the context of the first message ends.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	records := make([]*sarama.ProducerMessage, len(messages))
	for i, msg := range messages {
		records[i] = encode(topic, msg)
		if n := size(records[i]); n > p.cfg.MaxMessageBytes {
			return fmt.Errorf("kafka: publish to %q: message %q has %d bytes, more than MaxMessageBytes (%d)", topic, msg.UUID, n, p.cfg.MaxMessageBytes)
		}
	}
	ctx := messages[0].Context()
	if ctx.Err() != nil {
		return fmt.Errorf("kafka: publish to %q: %w", topic, context.Cause(ctx))
	}
	if !p.begin() {
		return errClosed
	}
	sent := make(chan error, 1)
	go func() {
		defer p.calls.Done()
		sent <- p.send(topic, records)
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return fmt.Errorf("kafka: publish to %q: outcome unknown: %w", topic, context.Cause(ctx))
	}
}

func (p *publisher) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.calls.Add(1)
	}
	return !p.closed
}

func (p *publisher) send(topic string, records []*sarama.ProducerMessage) error {
	p.mu.Lock()
	connect := p.connect
	p.mu.Unlock()
	producer, err := connect()
	if err != nil {
		return fmt.Errorf("kafka: publish to %q: connect: %w", topic, err)
	}
	if err := producer.sync.SendMessages(records); err != nil {
		return fmt.Errorf("kafka: publish to %q: %w", topic, explain(err, len(records)))
	}
	return nil
}

// explain sums up the failures of single messages, each cause once.
func explain(err error, total int) error {
	var failures sarama.ProducerErrors
	if !errors.As(err, &failures) {
		return err
	}
	var causes []error
	seen := map[string]bool{}
	for _, f := range failures {
		if seen[f.Err.Error()] || len(seen) == 3 {
			continue
		}
		seen[f.Err.Error()] = true
		causes = append(causes, f.Err)
	}
	err = fmt.Errorf("%d of %d messages failed: %w", len(failures), total, errors.Join(causes...))
	if errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		err = fmt.Errorf("%w (create the topic, or name it to EnsureTopics with CreateTopics set)", err)
	}
	return err
}

// Close does nothing: a router closes the publisher of each handler that ends,
// but this one is everybody's. The transport closes it.
func (p *publisher) Close() error { return nil }

// shutdown refuses further calls, waits for those under way and disconnects.
func (p *publisher) shutdown() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.calls.Wait()
	if p.current == nil {
		return nil
	}
	return p.current.publisher.Close()
}

// producer is watermill-kafka's publisher and the sarama producer inside it.
type producer struct {
	hooks
	publisher *wmkafka.Publisher
	sync      sarama.SyncProducer
}

// WrapSyncProducer takes hold of the producer, for its SendMessages.
func (p *producer) WrapSyncProducer(_ *sarama.Config, s sarama.SyncProducer) sarama.SyncProducer {
	p.sync = s
	return s
}

func (p *publisher) dial() (*producer, error) {
	dialled, err := p.open()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.connect = sync.OnceValues(p.dial)
		return nil, err
	}
	p.current = dialled
	return dialled, nil
}

func (p *publisher) open() (*producer, error) {
	cfg := p.cfg.producer()
	// sarama forgets to close a client whose brokers cannot be reached.
	if err := reach(p.cfg.Brokers, cfg); err != nil {
		return nil, err
	}
	opened := &producer{}
	var err error
	opened.publisher, err = wmkafka.NewPublisher(wmkafka.PublisherConfig{
		Brokers:               p.cfg.Brokers,
		Marshaler:             wmkafka.DefaultMarshaler{},
		OverwriteSaramaConfig: cfg,
		Tracer:                opened,
	}, adapt(p.cfg.Logger))
	return opened, err
}
