package middleware

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Timeout gives each try a context of its own that ends after Policy.Timeout,
// and puts the delivery's context back afterwards, so that neither the next
// try nor the settling sees a dead one. In shared transactions the engine keeps
// the time by itself: a message's begins with its turn.
func Timeout(c *idem.Consumer) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		if c.Transaction == idem.TransactionGroup {
			return next
		}
		return func(msg *message.Message) ([]*message.Message, error) {
			parent := msg.Context()
			ctx, cancel := context.WithTimeout(parent, c.Policy.Timeout)
			defer func() {
				cancel()
				msg.SetContext(parent)
			}()
			msg.SetContext(ctx)
			return next(msg)
		}
	}
}
