package kafka

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// unwind is how long a handler whose context was cancelled is waited for.
const unwind = 2 * time.Second

// subscription is one member of a consumer group. watermill-kafka connects and
// reconnects it; the claims, one per partition, dispatch to its channel.
type subscription struct {
	hooks
	cfg    Config
	group  idem.SubscriberConfig
	topic  string
	logger *slog.Logger
	leave  func() // the group
	acked  *committed

	out     chan *message.Message
	slots   chan struct{} // one token for each unsettled message
	permits chan permit
	taken   int // tokens that settled holds

	intake context.Context // ends when no more messages are dispatched
	stop   context.CancelFunc
	unlink func() bool     // from the subscriber
	life   context.Context // the parent of every message's context
	kill   context.CancelCauseFunc
	// abandoned is closed when unsettled messages are no longer waited for.
	abandoned chan struct{}

	// barren counts connections and sessions since one that got as far as a
	// claim.
	barren atomic.Int32
}

// permit allows one message to be dispatched until the gate changes. Its
// holder owes a token to slots.
type permit struct{ changed <-chan struct{} }

// newSubscription is not connected yet. It drains when ctx or closes ends.
func newSubscription(ctx, closes context.Context, cfg Config, group idem.SubscriberConfig, topic string) *subscription {
	s := &subscription{
		cfg: cfg, group: group, topic: topic,
		logger:    group.Logger.With("topic", topic, "group", group.Group),
		out:       make(chan *message.Message),
		slots:     make(chan struct{}, group.Concurrency),
		permits:   make(chan permit),
		abandoned: make(chan struct{}),
	}
	s.intake, s.stop = context.WithCancel(ctx)
	s.life, s.kill = context.WithCancelCause(context.WithoutCancel(ctx))
	s.unlink = context.AfterFunc(closes, s.stop)
	return s
}

// connect joins the group. After an error the subscription is of no use.
func (s *subscription) connect() error {
	inner, err := wmkafka.NewSubscriber(wmkafka.SubscriberConfig{
		Brokers:               s.cfg.Brokers,
		Unmarshaler:           wmkafka.DefaultMarshaler{},
		OverwriteSaramaConfig: s.cfg.consumer(),
		ConsumerGroup:         s.group.Group,
		Tracer:                s,
	}, adapt(s.group.Logger))
	if err == nil {
		_, err = inner.Subscribe(context.WithoutCancel(s.life), s.topic)
	}
	if err != nil {
		s.unlink()
		s.stop()
		s.kill(nil)
		return err
	}
	s.leave = func() { _ = inner.Close() } // always nil
	s.acked = watchCommits(s.cfg, s.group, s.topic)
	return nil
}

// run dispatches until intake ends, waits for the unsettled messages and
// leaves the group, which commits the offsets.
func (s *subscription) run() {
	s.admit()
	<-s.intake.Done() // a closed gate ends dispatching, not the subscription
	s.stop()
	s.unlink()
	if !s.settled(s.cfg.CloseTimeout) {
		s.logger.Warn("kafka: unsettled messages at close, cancelling them", "waited", s.cfg.CloseTimeout)
		s.kill(idem.ErrShuttingDown)
		s.settled(unwind)
	}
	close(s.abandoned)
	s.leave()
	s.acked.end()
	s.kill(nil)
	close(s.out)
}

// admit hands out permits: at most Concurrency at once, and only while the
// gate is open.
func (s *subscription) admit() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.intake.Done():
			return
		}
		if !s.permit() {
			<-s.slots
			return
		}
	}
}

func (s *subscription) permit() bool {
	for {
		changed := s.group.Gate.Changed()
		if s.group.Gate.Wait(s.intake) != nil {
			return false
		}
		select {
		case s.permits <- permit{changed}:
			return true
		case <-changed:
		case <-s.intake.Done():
			return false
		}
	}
}

// settled reports whether all messages were settled within d. It takes the
// tokens one by one: with all of them here, none is in anybody's hand.
func (s *subscription) settled(d time.Duration) bool {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for ; s.taken < cap(s.slots); s.taken++ {
		select {
		case s.slots <- struct{}{}:
		case <-timeout.C:
			return false
		}
	}
	return true
}

// WrapConsumerGroupHandler is called at each new connection: here our handler
// takes the place of watermill-kafka's, and here the reconnects, which follow
// each other without a pause, are slowed down.
func (s *subscription) WrapConsumerGroupHandler(sarama.ConsumerGroupHandler) sarama.ConsumerGroupHandler {
	s.backOff(s.intake, int(s.barren.Add(1))-1)
	return handler{s}
}

func (s *subscription) backOff(ctx context.Context, failures int) {
	if failures <= 0 {
		return
	}
	d := spacing(failures, 100*time.Millisecond, 5*time.Second)
	s.logger.Warn("kafka: cannot consume, trying again", "failures", failures, "after", d)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// handler is what the consumer group calls.
type handler struct{ *subscription }

// Setup begins a session. One that ends before a claim was consumed is
// followed by the next at once, hence the pause here.
func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	if len(session.Claims()) > 0 {
		h.backOff(session.Context(), int(h.barren.Add(1))-2)
	}
	return nil
}

// Cleanup ends a session; sarama commits the marked offsets after it.
func (h handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim dispatches one partition until it is taken away.
func (h handler) ConsumeClaim(session sarama.ConsumerGroupSession, source sarama.ConsumerGroupClaim) error {
	h.barren.Store(0)
	newClaim(h.subscription, session, source).run()
	return nil
}
