// Package middleware is the pipeline around a handler: one file for each
// part, and [Chain], which owns their order.
//
// Each part is a plain Watermill message.HandlerMiddleware of one consumer and
// can be used alone in a router of one's own; the order matters then, and
// [Check] refuses one that loses messages.
package middleware

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Options are what the chain needs beside the consumer.
type Options struct {
	// Breakers guards the operations that name a dependency; nil is allowed
	// when none does.
	Breakers *Breakers
	// Observer is called once per delivery, after it was settled; nil is none.
	// It must be quick and safe for concurrent use.
	Observer func(Observation)
}

// Chain returns the pipeline of a consumer in the one order that is right:
//
//	Observe      sees every end, once, after it is settled
//	Settle       decides and carries out: durable outcome first, then ack or nack
//	Throttle     waits; costs no attempt
//	Breaker      an open breaker costs no attempt
//	Retry        short in-process tries; each passes everything below again
//	Timeout      a fresh deadline for every try
//	Recover      a panic is an error from here on
//	Idempotency  claim, handler, commit
//
// It fails when an operation names a dependency that has no breaker.
func Chain(o Options) idem.Chain {
	return func(c *idem.Consumer) ([]message.HandlerMiddleware, error) {
		parts := []message.HandlerMiddleware{
			Observe(c, o.Observer), Settle(c), Throttle(c),
		}
		if c.Dependency != "" {
			breaker, err := o.Breakers.Middleware(c)
			if err != nil {
				return nil, err
			}
			parts = append(parts, breaker)
		}
		return append(parts, Retry(c), Timeout(c), Recover(c), Idempotency(c)), nil
	}
}

// Part names a part of the chain, for [Check].
type Part string

// The parts, outermost first.
const (
	PartObserve     Part = "observe"
	PartSettle      Part = "settle"
	PartThrottle    Part = "throttle"
	PartBreaker     Part = "breaker"
	PartRetry       Part = "retry"
	PartTimeout     Part = "timeout"
	PartRecover     Part = "recover"
	PartIdempotency Part = "idempotency"
)

var order = []Part{PartObserve, PartSettle, PartThrottle, PartBreaker, PartRetry, PartTimeout, PartRecover, PartIdempotency}

// Check says what is wrong with parts put together by hand, outermost first:
// every pair that stands the wrong way round, and what that would do.
func Check(parts ...Part) error {
	var errs []error
	at := func(p Part) int { return slices.Index(order, p) }
	for i, outer := range parts {
		if at(outer) < 0 {
			errs = append(errs, fmt.Errorf("middleware: %q is not a part of the chain", outer))
			continue
		}
		for _, inner := range parts[i+1:] {
			switch {
			case inner == outer:
				errs = append(errs, fmt.Errorf("middleware: %q stands twice", outer))
			case at(inner) >= 0 && at(inner) < at(outer):
				errs = append(errs, fmt.Errorf("middleware: %q must stand outside %q: %s", inner, outer, harm[inner]))
			}
		}
	}
	return errors.Join(errs...)
}

// harm says what goes wrong when a part stands too far inside.
var harm = map[Part]string{
	PartObserve:  "it would count tries instead of messages",
	PartSettle:   "a message would be dead-lettered or acked before its tries are over",
	PartThrottle: "waiting would use up the handler's time-out",
	PartBreaker:  "an open breaker would cost attempts",
	PartRetry:    "the tries would share one deadline or one transaction",
	PartTimeout:  "the deadline would not reach the handler",
	PartRecover:  "a panic would pass the transaction's roll-back only",
}

// Idempotency is the innermost part: it replaces the router's handler with the
// consumer's own, run once per key. See idem.Consumer.Process.
func Idempotency(c *idem.Consumer) message.HandlerMiddleware {
	return func(message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			return nil, c.Process(msg)
		}
	}
}
