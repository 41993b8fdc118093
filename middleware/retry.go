package middleware

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Retry tries again at once, in the process that holds the message, for
// faults that tend to pass within milliseconds: at most Policy.Quick times, a
// fully jittered Policy.QuickDelay apart. An external call whose outcome is
// unknown is left to Settle: it is too early to ask. Each try counts as an attempt if the
// fault is the message's. Longer delays are Settle's, and durable.
func Retry(c *idem.Consumer) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			a := c.Attempt(msg)
			for try := 1; ; try++ {
				_, err := next(msg)
				if err == nil || try > c.Policy.Quick || a.Unreadable() || a.Unsettled() || !worthAnotherTry(c, msg, a, err) {
					return nil, err
				}
				if !sleep(msg.Context(), idem.Jitter(c.Policy.QuickDelay, rand.Float64())) {
					return nil, err
				}
			}
		}
	}
}

func worthAnotherTry(c *idem.Consumer, msg *message.Message, a *idem.Attempt, err error) bool {
	if after, told := idem.RetryAfterOf(err); told && after > c.Policy.QuickDelay {
		return false
	}
	switch c.Engine().Classify(msg.Context(), err) {
	case idem.ClassTransient:
		return a.Prior+a.Runs < c.Policy.MaxAttempts
	case idem.ClassUnavailable: // a transaction that lost a race wins the next one
		var state interface{ SQLState() string }
		return errors.As(err, &state) && strings.HasPrefix(state.SQLState(), "40")
	}
	return false
}
