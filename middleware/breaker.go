package middleware

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/sony/gobreaker/v2"

	"github.com/idem-go/idem/framework/idem"
)

// BreakerSettings are the settings of the breaker of one dependency.
type BreakerSettings struct {
	// Failures in a row that open the breaker. 0 means 5.
	Failures uint32
	// OpenFor is how long it stays open before a probe. 0 means 10 s.
	OpenFor time.Duration
	// Probes is how many messages may pass while it is half open. 0 means 1.
	Probes uint32
}

// Breakers holds one circuit breaker for each declared dependency. While a
// breaker is open its consumers take nothing from the broker; what was already
// in hand is given back, at no attempt. Safe for concurrent use.
type Breakers struct {
	byName map[string]*breaker
}

// BreakerState is a breaker's state: "closed", "half-open" or "open".
type BreakerState string

type breaker struct {
	settings BreakerSettings
	cb       *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu       sync.Mutex
	openedAt time.Time // gobreaker keeps its own to itself
	gates    []*idem.Gate
}

// NewBreakers makes a breaker for each named dependency. Only declared
// dependencies have one, so their number is bounded.
func NewBreakers(settings map[string]BreakerSettings) *Breakers {
	b := &Breakers{byName: make(map[string]*breaker, len(settings))}
	for name, s := range settings {
		b.byName[name] = newBreaker(name, s)
	}
	return b
}

func newBreaker(name string, s BreakerSettings) *breaker {
	if s.Failures == 0 {
		s.Failures = 5
	}
	if s.OpenFor == 0 {
		s.OpenFor = 10 * time.Second
	}
	if s.Probes == 0 {
		s.Probes = 1
	}
	b := &breaker{settings: s}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, MaxRequests: s.Probes, Timeout: s.OpenFor,
		ReadyToTrip:   func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= s.Failures },
		IsSuccessful:  func(err error) bool { return err == nil },
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeutral) },
		OnStateChange: func(_ string, _, to gobreaker.State) { b.changed(to) },
	})
	return b
}

// State returns a dependency's state; ok is false for an undeclared one.
func (b *Breakers) State(dependency string) (BreakerState, bool) {
	br, ok := b.byName[dependency]
	if !ok {
		return "", false
	}
	return BreakerState(br.cb.State().String()), true
}

// Middleware is the breaker part of the chain for a consumer. It fails when
// the consumer's dependency is not declared.
func (b *Breakers) Middleware(c *idem.Consumer) (message.HandlerMiddleware, error) {
	var br *breaker
	if b != nil {
		br = b.byName[c.Dependency]
	}
	if br == nil {
		return nil, fmt.Errorf("middleware: dependency %q has no breaker: declare it under breakers", c.Dependency)
	}
	br.watch(c.Gate)
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			done, err := br.cb.Allow()
			if err != nil {
				open := fmt.Errorf("%w: breaker %q: %w", idem.ErrUnavailable, c.Dependency, err)
				return nil, idem.DependencyDown(idem.RetryAfter(open, br.remaining()))
			}
			verdict := errNeutral // a panic or Goexit tells nothing about the dependency
			defer func() { done(verdict) }()
			_, err = next(msg)
			verdict = judge(c, msg, err)
			return nil, err
		}
	}, nil
}

var errNeutral = errors.New("middleware: says nothing about the dependency")

// judge tells what a result says about the dependency: an answer, even a
// refusal, is a sign of life; what we or the database did is no sign at all.
func judge(c *idem.Consumer, msg *message.Message, err error) error {
	switch {
	case errors.Is(err, idem.ErrStore), errors.Is(err, idem.ErrInFlight), c.Attempt(msg).Duplicate, c.Attempt(msg).Skipped:
		return errNeutral
	}
	switch c.Engine().Classify(msg.Context(), err) {
	case idem.ClassUnavailable, idem.ClassTransient:
		return err
	case idem.ClassShutdown, idem.ClassRateLimited, idem.ClassBug:
		return errNeutral
	}
	return nil
}

func (b *breaker) watch(g *idem.Gate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gates = append(b.gates, g)
}

// changed shuts the consumers' intake when the breaker opens, until it lets a
// probe pass.
func (b *breaker) changed(to gobreaker.State) {
	if to != gobreaker.StateOpen {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.openedAt = time.Now()
	for _, g := range b.gates {
		g.HoldFor(b.settings.OpenFor)
	}
}

// remaining is how long the breaker stays open; while it is half open, a
// moment for the probe to end.
func (b *breaker) remaining() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(time.Until(b.openedAt.Add(b.settings.OpenFor)), b.settings.OpenFor/20, time.Millisecond)
}
