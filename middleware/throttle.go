package middleware

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/time/rate"

	"github.com/idem-go/idem/framework/idem"
)

// Throttle bounds how many handlers of the consumer run at once
// (Operation.Concurrency) and how many start per second
// (Operation.RatePerSecond, in bursts of at most one second's worth). Waiting
// costs no attempt, and the transport extends the lease meanwhile.
func Throttle(c *idem.Consumer) message.HandlerMiddleware {
	slots := make(chan struct{}, c.Concurrency)
	var limit *rate.Limiter
	if c.RatePerSecond > 0 {
		limit = rate.NewLimiter(rate.Limit(c.RatePerSecond), max(1, int(c.RatePerSecond)))
	}
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			ctx := msg.Context()
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if limit != nil {
				if err := limit.Wait(ctx); err != nil {
					if cause := context.Cause(ctx); cause != nil {
						err = cause
					}
					return nil, err
				}
			}
			return next(msg)
		}
	}
}
