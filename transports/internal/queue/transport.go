package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// errClosed is returned by everything that is used after its Close.
var errClosed = errors.New("is closed")

// callTimeout bounds one call of a backend, so that a hanging database can
// neither hold up a loop for ever nor keep Close waiting.
const callTimeout = 10 * time.Second

// Transport is an [idem.Transport] over a [Backend]. Safe for concurrent use.
type Transport struct {
	name string
	b    Backend
	o    Options

	// life ends with Close; work counts the goroutines that then end.
	life context.Context
	end  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	cleaning bool
	work     sync.WaitGroup
}

var _ idem.Transport = (*Transport)(nil)

// NewTransport returns the transport called name over b. It owns b: Close
// closes it.
func NewTransport(name string, b Backend, o Options) (*Transport, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := &Transport{name: name, b: b, o: o.withDefaults()}
	t.life, t.end = context.WithCancel(context.Background())
	return t, nil
}

// Name is the name given to [NewTransport].
func (t *Transport) Name() string { return t.name }

// Capabilities says what every queue in a database can do.
func (t *Transport) Capabilities() idem.Capabilities {
	return idem.Capabilities{
		DurableDelay:    true,
		OrderedByKey:    true,
		ConsumerGroups:  true,
		Database:        t.b.Database(),
		MaxMessageBytes: t.o.MaxMessageBytes,
		Retention:       t.o.Retention,
	}
}

// Publisher returns the shared publisher. Its Close does nothing, because the
// Watermill router closes publishers that others still use; Close of the
// transport ends it.
func (t *Transport) Publisher() message.Publisher {
	t.clean()
	return publisher{t}
}

// Subscriber returns the subscriber of one consumer group.
func (t *Transport) Subscriber(c idem.SubscriberConfig) (message.Subscriber, error) {
	s, err := newSubscriber(t, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	t.clean()
	return s, nil
}

// EnsureTopics has nothing to do: a topic exists by being used.
func (t *Transport) EnsureTopics(context.Context, ...string) error { return nil }

// Ping reports whether the database can be reached now.
func (t *Transport) Ping(ctx context.Context) error {
	if err := t.b.Ping(ctx); err != nil {
		return fmt.Errorf("%s: ping: %w", t.name, err)
	}
	return nil
}

// Depth returns how many messages of the topic the group has not yet
// acknowledged, and the age of the oldest.
func (t *Transport) Depth(ctx context.Context, topic, group string) (n int, oldest time.Duration, err error) {
	n, oldest, err = t.b.Depth(ctx, topic, group)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: depth of %q for group %q: %w", t.name, topic, group, err)
	}
	return n, oldest, nil
}

// Close ends the publisher and closes the backend. A subscriber that is still
// open is abandoned: its messages' contexts are cancelled with cause
// [idem.ErrShuttingDown] and their leases are left to run out.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	t.end()
	t.work.Wait()
	return t.b.Close()
}

// spawn runs f in a goroutine for which Close waits.
func (t *Transport) spawn(f func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("%s: transport %w", t.name, errClosed)
	}
	t.work.Go(f)
	return nil
}
