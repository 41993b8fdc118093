package kafka

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// stage runs a subscription without a broker: the test plays the group.
type stage struct {
	*subscription
	session *fakeSession
	source  fakeSource
	claims  sync.WaitGroup
	stopped chan struct{}
}

func newStage(group idem.SubscriberConfig, cfg Config) *stage {
	group.Logger = slog.New(slog.DiscardHandler)
	group.Group = "g"
	if group.Gate == nil {
		group.Gate = &idem.Gate{}
	}
	st := &stage{
		subscription: newSubscription(context.Background(), context.Background(), cfg.withDefaults(), group, "t"),
		stopped:      make(chan struct{}),
	}
	st.leave = func() {
		st.session.cancel(context.Canceled)
		st.claims.Wait()
	}
	go func() {
		st.run()
		close(st.stopped)
	}()
	st.assign()
	return st
}

// assign begins a session with one claim.
func (st *stage) assign() {
	st.session = &fakeSession{}
	st.session.ctx, st.session.cancel = context.WithCancelCause(context.Background())
	st.source = fakeSource{make(chan *sarama.ConsumerMessage, 10_000)}
	session, source := st.session, st.source
	st.claims.Go(func() { newClaim(st.subscription, session, source).run() })
}

// revoke ends the session and returns how long the claim took to end.
func (st *stage) revoke(cause error) time.Duration {
	begin := time.Now()
	st.session.cancel(cause)
	st.claims.Wait()
	return time.Since(begin)
}

func (st *stage) end() {
	st.stop()
	<-st.stopped
}

// take returns the messages that are dispatched without time passing.
func (st *stage) take() []*message.Message {
	var out []*message.Message
	for {
		synctest.Wait()
		select {
		case m := <-st.out:
			out = append(out, m)
		default:
			return out
		}
	}
}

func positions(msgs []*message.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, info(m).Position)
	}
	slices.Sort(out)
	return out
}

func info(m *message.Message) *idem.Delivery {
	d, _ := idem.DeliveryFrom(m.Context())
	return d
}

type fakeSession struct {
	sarama.ConsumerGroupSession
	ctx    context.Context
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	marked []int64
}

func (s *fakeSession) Context() context.Context { return s.ctx }

func (s *fakeSession) Claims() map[string][]int32 { return map[string][]int32{"t": {7}} }

func (s *fakeSession) MarkOffset(_ string, _ int32, offset int64, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marked = append(s.marked, offset)
}

func (s *fakeSession) commits() []int64 {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.marked)
}

type fakeSource struct{ messages chan *sarama.ConsumerMessage }

func (s fakeSource) Topic() string                            { return "t" }
func (s fakeSource) Partition() int32                         { return 7 }
func (s fakeSource) InitialOffset() int64                     { return 0 }
func (s fakeSource) HighWaterMarkOffset() int64               { return 0 }
func (s fakeSource) Messages() <-chan *sarama.ConsumerMessage { return s.messages }
