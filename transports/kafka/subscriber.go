package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// closeMargin is what disconnecting may take after CloseTimeout.
const closeMargin = 15 * time.Second

// subscriber holds the subscriptions of one consumer group.
type subscriber struct {
	cfg   Config
	group idem.SubscriberConfig

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
	closes context.Context
	stop   context.CancelFunc
}

func newSubscriber(cfg Config, group idem.SubscriberConfig) *subscriber {
	if group.Concurrency == 0 {
		group.Concurrency = 1
	}
	if group.Gate == nil {
		group.Gate = &idem.Gate{}
	}
	if group.Logger == nil {
		group.Logger = cfg.Logger
	}
	s := &subscriber{cfg: cfg, group: group}
	s.closes, s.stop = context.WithCancel(context.Background())
	return s
}

// Subscribe joins the group for one topic. When ctx ends the subscription
// drains as it does at Close. The topic need not exist yet.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("kafka: subscribe: the subscriber is closed")
	}
	sub := newSubscription(ctx, s.closes, s.cfg, s.group, topic)
	if err := sub.connect(); err != nil {
		return nil, fmt.Errorf("kafka: subscribe to %q in group %q: %w", topic, s.group.Group, err)
	}
	s.active.Go(sub.run)
	return sub.out, nil
}

// Close drains all subscriptions: nothing new is dispatched, unsettled
// messages are waited for and their offsets committed. After CloseTimeout
// their contexts are cancelled with [idem.ErrShuttingDown].
func (s *subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	done := make(chan struct{})
	go func() {
		s.active.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(s.cfg.CloseTimeout + closeMargin):
		return fmt.Errorf("kafka: group %q: closing takes longer than %v; it goes on in the background", s.group.Group, s.cfg.CloseTimeout+closeMargin)
	}
}
