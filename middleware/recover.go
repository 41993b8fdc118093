package middleware

import (
	"fmt"
	"runtime/debug"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

const maxStack = 8 << 10

// Recover turns a panic into an error of class bug. The stack goes to the log,
// never into the error, which travels into tables and headers.
func Recover(c *idem.Consumer) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) (_ []*message.Message, err error) {
			defer func() {
				if r := recover(); r != nil {
					stack := debug.Stack()
					c.Engine().Logger.Error("idem: handler panicked", "consumer", c.Name, "message_id", msg.UUID,
						"stack", string(stack[:min(len(stack), maxStack)]))
					err = idem.Bug(fmt.Errorf("handler panicked: %s", panicText(r)))
				}
			}()
			return next(msg)
		}
	}
}

func panicText(r any) string {
	switch v := r.(type) {
	case nil:
		return "runtime.Goexit was called"
	case error:
		return idem.Summary(v)
	case string:
		return idem.Summary(fmt.Errorf("%s", v))
	default:
		return fmt.Sprintf("value of type %T", v)
	}
}
