package middleware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

const (
	// holdMax is the longest delay that a broker without durable delays is
	// asked to hold by itself; longer ones go through the outbox.
	holdMax = time.Second
	// recordTimeout bounds one write of an outcome, recordTries how often it
	// is tried with the message in hand before it is given back.
	recordTimeout = 10 * time.Second
	recordTries   = 8
	recordDelay   = 5 * time.Second
	// minDelay is the least time before a message comes back, whatever it was
	// told: nothing spins.
	minDelay = 10 * time.Millisecond
	// pauseRecheck is when a message that paused its consumer may come back
	// to another process.
	pauseRecheck = time.Second
)

// Settle is the only place that decides what happens to a message. It turns
// (error class, attempts so far, policy) into one outcome with idem.Decide,
// makes that outcome durable, and only then acks or nacks, exactly once on
// every path: success, duplicate, failure, panic, Goexit, shutdown. It never
// returns an error to the router.
func Settle(c *idem.Consumer) message.HandlerMiddleware {
	s := &settler{c: c, e: c.Engine()}
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			outer := msg.Context()
			ctx, cancel := s.e.Work(outer)
			defer cancel()
			msg.SetContext(ctx)
			defer func() { msg.SetContext(outer) }()
			a := c.Attempt(msg)
			returned := false
			defer func() {
				if !returned { // a panic above Recover, or runtime.Goexit
					a.Runs = max(a.Runs, 1)
					s.settle(msg, a, idem.Bug(fmt.Errorf("idem: handler did not return: %s", panicText(recover()))))
				}
			}()
			_, err := next(msg)
			returned = true
			s.settle(msg, a, err)
			return nil, nil
		}
	}
}

type settler struct {
	c       *idem.Consumer
	e       *idem.Engine
	trouble trouble
}

// trouble spaces unavailable outcomes in a row further and further apart,
// however many messages are in hand: what fails within half of a round's delay
// belongs to the same round.
type trouble struct {
	mu    sync.Mutex
	round int
	until time.Time
}

// again says which round of the trouble a failure is part of, from 1.
func (t *trouble) again(b idem.Backoff) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); !now.Before(t.until) {
		t.round++
		t.until = now.Add(b.Cap(t.round) / 2)
	}
	return t.round
}

// over is said after any outcome that is no trouble.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.round, t.until = 0, time.Time{}
}

func (s *settler) settle(msg *message.Message, a *idem.Attempt, err error) {
	ctx := msg.Context()
	a.Err, a.Class = err, s.e.Classify(ctx, err)
	a.Outcome = s.decide(a)
	if a.Outcome.Kind != idem.Unavailable {
		s.trouble.over()
	}
	switch a.Outcome.Kind {
	case idem.Done, idem.Duplicate, idem.Skipped:
		ack(msg, a)
	case idem.Dead, idem.Discard:
		if s.record(ctx, msg, a, -1) {
			ack(msg, a)
		}
	case idem.Retry:
		s.retry(ctx, msg, a)
	case idem.Pause:
		if s.record(ctx, msg, a, -1) {
			s.pause(msg, a)
		}
	case idem.Unavailable:
		s.giveBack(msg, a, s.delay(a))
	default: // Abandon
		s.giveBack(msg, a, 0)
	}
}

func (s *settler) decide(a *idem.Attempt) idem.Outcome {
	if a.Err == nil && a.Duplicate {
		return idem.Outcome{Kind: idem.Duplicate}
	}
	if a.Err == nil && a.Skipped {
		return idem.Outcome{Kind: idem.Skipped}
	}
	attempts := a.Prior + a.Runs
	if a.Unreadable() { // another attempt would find the same
		attempts = max(attempts, s.c.Policy.MaxAttempts)
	}
	return idem.Decide(a.Class, attempts, s.c.Policy)
}

// retry keeps the message with a broker that can hold it, else sends a copy
// through the outbox. Order by key forbids the copy: others would overtake it.
func (s *settler) retry(ctx context.Context, msg *message.Message, a *idem.Attempt) {
	delay := s.delay(a)
	held := a.Delivery != nil && (s.durableDelay() || !s.c.Unordered || delay <= holdMax)
	copyAfter := delay
	if held {
		copyAfter = -1
	}
	if !s.record(ctx, msg, a, copyAfter) {
		return
	}
	if a.Outcome.Kind == idem.Retry && held {
		s.giveBack(msg, a, delay)
		return
	}
	ack(msg, a)
}

func (s *settler) durableDelay() bool {
	return s.e.Transport != nil && s.e.Transport.Capabilities().DurableDelay
}

// pause stops the consumer and keeps the message with the broker.
func (s *settler) pause(msg *message.Message, a *idem.Attempt) {
	if a.Outcome.Kind != idem.Pause { // completed by another attempt meanwhile
		ack(msg, a)
		return
	}
	s.c.Gate.Pause(idem.Summary(a.Err))
	s.e.Logger.Error("idem: consumer paused", "consumer", s.c.Name, "event_id", a.Key, "message_id", a.MessageID,
		"error", idem.Summary(a.Err), "fix", "mend the handler and restart, or call Resume of the consumer's Gate")
	s.giveBack(msg, a, pauseRecheck)
}

// record makes the outcome durable. While that fails the message stays in
// hand, with growing pauses and the intake shut, and the handler is not run
// again; after a while it is given back. It reports whether the source may be
// settled; if not, it already has been given back.
func (s *settler) record(ctx context.Context, msg *message.Message, a *idem.Attempt, copyAfter time.Duration) bool {
	for try := 1; ; try++ {
		rctx, cancel := context.WithTimeout(ctx, recordTimeout)
		o, err := s.c.Record(rctx, a, a.Outcome, a.Err, copyAfter)
		cancel()
		if err == nil {
			a.Outcome = o
			return true
		}
		if errors.Is(err, idem.ErrInFlight) { // another attempt is at it, and will decide
			a.Outcome = idem.Outcome{Kind: idem.Unavailable}
			s.giveBack(msg, a, pauseRecheck)
			return false
		}
		s.e.Logger.Warn("idem: could not record an outcome", "consumer", s.c.Name, "event_id", a.Key,
			"outcome", string(a.Outcome.Kind), "try", try, "error", idem.Summary(err))
		pause := idem.Jitter(min(100*time.Millisecond<<try, recordDelay), rand.Float64())
		s.c.Gate.HoldFor(pause)
		if try == recordTries || !sleep(ctx, pause) {
			a.Outcome = idem.Outcome{Kind: idem.Unavailable, After: recordDelay}
			if s.e.Classify(ctx, err) == idem.ClassShutdown {
				a.Outcome = idem.Outcome{Kind: idem.Abandon}
			}
			s.giveBack(msg, a, pause)
			return false
		}
	}
}

// giveBack returns the message to the broker, to come again after the delay.
// The delivery is not counted, since it had an outcome: what the broker counts
// are deliveries without any, which is how a message that kills its process is
// found.
func (s *settler) giveBack(msg *message.Message, a *idem.Attempt, after time.Duration) {
	if a.Delivery != nil {
		a.Delivery.Redeliver(after, false)
	} else if after > 0 { // a foreign subscriber knows no delay and would spin
		sleep(msg.Context(), min(after, holdMax))
	}
	a.Reached(msg.Context(), idem.StepGivingBack)
	msg.Nack()
}

func ack(msg *message.Message, a *idem.Attempt) {
	a.Reached(msg.Context(), idem.StepAcking)
	msg.Ack()
}

// delay is how long the message waits: the window we were told, else drawn
// below the outcome's cap. A source of trouble that is not the message's
// also shuts the intake, for the next message would meet it too.
func (s *settler) delay(a *idem.Attempt) time.Duration {
	hint, told := idem.RetryAfterOf(a.Err)
	hint = max(min(hint, s.c.Policy.MaxRetryAfter), minDelay)
	if a.Outcome.Kind == idem.Retry {
		if told {
			return hint
		}
		return max(idem.Jitter(a.Outcome.After, rand.Float64()), minDelay)
	}
	if told {
		s.c.Gate.HoldFor(hint)
		return hint + idem.Jitter(min(hint/10, holdMax), rand.Float64())
	}
	delay := max(idem.Jitter(s.c.Policy.Backoff.Cap(s.trouble.again(s.c.Policy.Backoff)), rand.Float64()), minDelay)
	if errors.Is(a.Err, idem.ErrStore) {
		s.c.Gate.HoldFor(delay)
	}
	return delay
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
