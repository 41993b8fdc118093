package kafka

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
)

// Watermill's universal suite, each topic in one partition: what it calls order is
// that of a topic.
func TestWatermillSuite(t *testing.T) {
	b := newBench(t, 1)
	tr := b.transport(nil)
	t.Run("suite", func(t *testing.T) {
		queuetest.Watermill(t, func(t *testing.T) idem.Transport { return ensuring{tr, t} })
	})
}

// ensuring makes the topics that the suite thinks up, and closes the subscribers
// that it leaves open.
type ensuring struct {
	*Transport
	t *testing.T
}

func (e ensuring) Publisher() message.Publisher {
	return ensuringPublisher{e.Transport.Publisher(), e.Transport}
}

func (e ensuring) Subscriber(c idem.SubscriberConfig) (message.Subscriber, error) {
	s, err := e.Transport.Subscriber(c)
	if err == nil {
		e.t.Cleanup(func() { _ = s.Close() })
	}
	return ensuringSubscriber{s, e.Transport}, err
}

type ensuringPublisher struct {
	message.Publisher
	t *Transport
}

func (p ensuringPublisher) Publish(topic string, msgs ...*message.Message) error {
	if err := p.t.EnsureTopics(context.Background(), topic); err != nil {
		return err
	}
	return p.Publisher.Publish(topic, msgs...)
}

type ensuringSubscriber struct {
	message.Subscriber
	t *Transport
}

func (s ensuringSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.t.EnsureTopics(ctx, topic); err != nil {
		return nil, err
	}
	return s.Subscriber.Subscribe(ctx, topic)
}
