package middleware

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/time/rate"

	"github.com/idem-go/idem/framework/idem"
)

// Observation is one settled delivery.
type Observation struct {
	Consumer, Topic string
	// Outcome and Class say how it ended; Reason goes with dead letters and discards.
	Outcome idem.Kind
	Class   idem.Class
	Reason  string
	// Cause says why a duplicate came, or a message with another one's key;
	// "" for all others.
	Cause idem.Cause
	// Attempts counts handler runs of the key so far that count, Runs those of
	// this delivery.
	Attempts, Runs int
	Duration       time.Duration
}

const (
	logsPerSecond = 20
	logBurst      = 200
)

// Observe logs every delivery with the stable fields (event_id, message_id,
// attempt, queue, consumer, error_type, duration_ms and the operation's own)
// and tells the observer. Successes are logged at debug level; the rest at most
// 20 times a second per consumer, with the number left out. Payloads are never
// logged.
func Observe(c *idem.Consumer, observer func(Observation)) message.HandlerMiddleware {
	limit := rate.NewLimiter(logsPerSecond, logBurst)
	var leftOut atomic.Int64
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			start := time.Now()
			a := c.Attempt(msg)
			defer func() {
				d := time.Since(start)
				if observer != nil {
					observer(Observation{
						Consumer: c.Name, Topic: a.Topic, Outcome: a.Outcome.Kind, Class: a.Class, Reason: a.Outcome.Reason, Cause: a.Cause,
						Attempts: a.Prior + a.Runs, Runs: a.Runs, Duration: d,
					})
				}
				level := levelOf(a.Outcome.Kind)
				log := c.Engine().Logger
				if !log.Enabled(msg.Context(), level) {
					return
				}
				if level > slog.LevelDebug && !limit.Allow() {
					leftOut.Add(1)
					return
				}
				log.LogAttrs(msg.Context(), level, "message settled", fields(c, a, d, leftOut.Swap(0))...)
			}()
			return next(msg)
		}
	}
}

func levelOf(k idem.Kind) slog.Level {
	switch k {
	case idem.Done, idem.Duplicate, idem.Skipped:
		return slog.LevelDebug
	case idem.Dead, idem.Pause:
		return slog.LevelError
	case idem.Retry:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

func fields(c *idem.Consumer, a *idem.Attempt, d time.Duration, leftOut int64) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("event_id", a.Key), slog.String("message_id", a.MessageID), slog.Int("attempt", a.Prior+a.Runs),
		slog.String("queue", a.Topic), slog.String("consumer", c.Name), slog.String("error_type", string(a.Class)),
		slog.Float64("duration_ms", float64(d.Microseconds())/1000), slog.String("outcome", string(a.Outcome.Kind)),
	}
	if a.Outcome.Reason != "" {
		attrs = append(attrs, slog.String("reason", a.Outcome.Reason))
	}
	if a.Cause != "" {
		attrs = append(attrs, slog.String("cause", string(a.Cause)))
	}
	if a.Err != nil {
		attrs = append(attrs, slog.String("error", idem.Summary(a.Err)))
	}
	own := a.LogFields()
	for i := 0; i+1 < len(own); i += 2 {
		attrs = append(attrs, slog.Any(own[i].(string), own[i+1]))
	}
	if leftOut > 0 {
		attrs = append(attrs, slog.Int64("similar_left_out", leftOut))
	}
	return attrs
}
