package memory

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/memqueue"
)

// Config tunes the transport. The zero value is useful.
type Config struct {
	// MaxMessages bounds what is stored, acknowledged messages that are kept
	// for new groups included; those are removed first when room is needed,
	// then Publish fails. 0 means 1,000,000.
	MaxMessages int
	// Lease, PollInterval, Retention, CleanEvery and MaxMessageBytes are as
	// for every queue: 0 means 30 s, 250 ms, 168 h, 1 min and 16 MiB.
	Lease, PollInterval, Retention, CleanEvery time.Duration
	MaxMessageBytes                            int
	// Logger takes what nobody else is told; nil means slog.Default().
	Logger *slog.Logger
}

// Transport is an [idem.Transport] whose queue is in this process's memory.
type Transport struct{ *queue.Transport }

// New returns an empty queue. The error names every field that makes no sense.
func New(c Config) (*Transport, error) {
	if c.MaxMessages < 0 {
		return nil, fmt.Errorf("memory: MaxMessages must not be negative, is %d", c.MaxMessages)
	}
	t, err := queue.NewTransport("memory", memqueue.New(cmp.Or(c.MaxMessages, 1_000_000)), queue.Options{
		Lease: c.Lease, PollInterval: c.PollInterval, Retention: c.Retention, CleanEvery: c.CleanEvery,
		MaxMessageBytes: c.MaxMessageBytes, Logger: c.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Transport{t}, nil
}
