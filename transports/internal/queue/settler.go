package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// settlement says how a message ended: acknowledged, or given back.
type settlement struct {
	*hold
	ack     bool
	after   time.Duration
	counted bool
}

// settler tells the backend how messages ended. What comes in while one call
// is under way goes out together in the next.
type settler struct {
	b    Backend
	log  *slog.Logger
	done func(...*hold)
	step idem.StepFunc // nil is none

	mu      sync.Mutex
	pending []settlement
	filled  chan struct{}
}

func newSettler(b Backend, log *slog.Logger, done func(...*hold), step idem.StepFunc) *settler {
	return &settler{b: b, log: log, done: done, step: step, filled: make(chan struct{}, 1)}
}

func (s *settler) put(x settlement) {
	s.mu.Lock()
	s.pending = append(s.pending, x)
	s.mu.Unlock()
	select {
	case s.filled <- struct{}{}:
	default:
	}
}

func (s *settler) take() []settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.pending
	s.pending = nil
	return batch
}

// run works until ctx ends. After the end of life, what fails is not tried again.
func (s *settler) run(ctx, life context.Context) {
	var trouble backoff
	for {
		select {
		case <-s.filled:
		case <-ctx.Done():
			return
		}
		failed := s.flush(s.take())
		for _, x := range failed {
			if x.lost.Load() || life.Err() != nil {
				s.log.Warn("queue: message was settled in vain and will be delivered again", "position", x.ID, "ack", x.ack)
				s.done(x.hold)
				continue
			}
			s.put(x)
		}
		if len(failed) == 0 {
			trouble.reset()
			continue
		}
		trouble.pause(life)
	}
}

// flush returns what could not be settled.
func (s *settler) flush(batch []settlement) (failed []settlement) {
	var acks, releases []settlement
	for _, x := range batch {
		if x.ack {
			acks = append(acks, x)
		} else {
			releases = append(releases, x)
		}
	}
	failed = s.send(acks, "acknowledge", func(ctx context.Context) error {
		leases := make([]Lease, len(acks))
		for i, x := range acks {
			leases[i] = x.Lease
		}
		return s.b.Ack(ctx, leases...)
	})
	return append(failed, s.send(releases, "release", func(ctx context.Context) error {
		rs := make([]Release, len(releases))
		for i, x := range releases {
			rs[i] = Release{Lease: x.Lease, After: x.after, Counted: x.counted}
		}
		return s.b.Release(ctx, rs...)
	})...)
}

func (s *settler) send(batch []settlement, verb string, call func(context.Context) error) (failed []settlement) {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := call(ctx); err != nil {
		s.log.Warn("queue: cannot "+verb+" messages", "count", len(batch), "error", err)
		return batch
	}
	s.reached(batch)
	holds := make([]*hold, len(batch))
	for i, x := range batch {
		holds[i] = x.hold
	}
	s.done(holds...)
	return nil
}

// reached tells of messages whose end the database knows. One whose lease was
// lost is another's: there was nothing to settle.
func (s *settler) reached(batch []settlement) {
	if s.step == nil {
		return
	}
	for _, x := range batch {
		if x.lost.Load() {
			continue
		}
		e := idem.StepEvent{Step: idem.StepGivenBack, Topic: x.delivery.Topic, MessageID: x.UUID, Position: x.delivery.Position}
		if x.ack {
			e.Step = idem.StepAcked
		}
		s.step(x.ctx, e)
	}
}
