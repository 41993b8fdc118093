package idemtest

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// forgetful is a transport that loses the first acknowledgement of each
// message, as when the process dies between commit and ack. It hides that its
// queue may be in the store's database: there the ack could not be lost.
type forgetful struct {
	idem.Transport
	mu    sync.Mutex
	acked map[string]bool
}

func newForgetful(t idem.Transport) *forgetful {
	return &forgetful{Transport: t, acked: map[string]bool{}}
}

// Capabilities implements [idem.Transport].
func (f *forgetful) Capabilities() idem.Capabilities {
	c := f.Transport.Capabilities()
	c.Database = ""
	return c
}

// Subscriber implements [idem.Transport].
func (f *forgetful) Subscriber(c idem.SubscriberConfig) (message.Subscriber, error) {
	s, err := f.Transport.Subscriber(c)
	return forgetfulSubscriber{s, f}, err
}

type forgetfulSubscriber struct {
	message.Subscriber
	f *forgetful
}

// Subscribe implements message.Subscriber.
func (s forgetfulSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for msg := range in {
			c := msg.Copy()
			c.SetContext(msg.Context())
			select {
			case out <- c:
				go s.f.pass(msg, c)
			case <-msg.Context().Done():
				msg.Nack()
			}
		}
	}()
	return out, nil
}

// pass hands on how the copy was settled, except for the first ack.
func (f *forgetful) pass(msg, c *message.Message) {
	select {
	case <-c.Acked():
		if !f.first(msg.UUID) {
			msg.Ack()
			return
		}
		if d, ok := idem.DeliveryFrom(msg.Context()); ok {
			d.Redeliver(0, true)
		}
		msg.Nack()
	case <-c.Nacked():
		msg.Nack()
	case <-msg.Context().Done():
	}
}

func (f *forgetful) first(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.acked[id]
	f.acked[id] = true
	return first
}
