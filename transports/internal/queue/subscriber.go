package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// subscriber is the [message.Subscriber] of one consumer group. Its
// subscriptions share the slots, so that Concurrency bounds all of them
// together.
type subscriber struct {
	t     *Transport
	c     idem.SubscriberConfig
	slots *slots

	// open ends with Close.
	open  context.Context
	close context.CancelFunc

	mu            sync.Mutex
	closed        bool
	subscriptions sync.WaitGroup
}

func newSubscriber(t *Transport, c idem.SubscriberConfig) (*subscriber, error) {
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	c.Lease = cmp.Or(c.Lease, t.o.Lease)
	c.Logger = cmp.Or(c.Logger, t.o.Logger)
	c.Gate = cmp.Or(c.Gate, new(idem.Gate))
	var errs []error
	if c.Group == "" {
		errs = append(errs, errors.New("subscriber: Group must not be empty"))
	}
	if c.Concurrency < 0 {
		errs = append(errs, fmt.Errorf("subscriber: Concurrency must not be negative, is %d", c.Concurrency))
	}
	if c.Lease < leastLease {
		errs = append(errs, fmt.Errorf("subscriber: Lease must be at least %v, is %v", leastLease, c.Lease))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s := &subscriber{t: t, c: c, slots: newSlots(c.Concurrency)}
	s.open, s.close = context.WithCancel(t.life)
	return s, nil
}

// Subscribe begins to deliver topic to the group. The end of ctx ends intake
// and, once what was delivered is settled, closes the channel.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic == "" {
		return nil, fmt.Errorf("%s: subscribe: %w", s.t.name, errNoTopic)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s: subscribe to %q: subscriber %w", s.t.name, topic, errClosed)
	}
	intake, stop := context.WithCancel(ctx)
	unlink := context.AfterFunc(s.open, stop)
	n := newSubscription(intake, context.WithoutCancel(ctx), s, topic)
	s.subscriptions.Add(1)
	err := s.t.spawn(func() {
		defer s.subscriptions.Done()
		defer stop()
		defer unlink()
		n.run()
	})
	if err != nil {
		s.subscriptions.Done()
		stop()
		return nil, err
	}
	return n.out, nil
}

// Close stops intake, gives back what was claimed and not delivered, and
// waits until everything delivered is settled.
func (s *subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.close()
	s.subscriptions.Wait()
	return nil
}

// logger names the subscription in what it logs.
func (s *subscriber) logger(topic string) *slog.Logger {
	return s.c.Logger.With("transport", s.t.name, "topic", topic, "group", s.c.Group)
}
