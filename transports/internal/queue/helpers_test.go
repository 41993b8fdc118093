package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/memqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	topic = "orders"
	group = "billing"
	lease = 30 * time.Second
)

var errDown = errors.New("database is down")

// faulty is a queue in memory with a hook before each call; a hook that
// returns an error fails the call.
type faulty struct {
	*memqueue.Backend
	claims atomic.Int64

	mu                                               sync.Mutex
	register, claim, ack, release, extend, afterward func(context.Context) error
	acked                                            [][]queue.Lease
	database                                         string
	nextDue                                          func() (time.Duration, bool)
}

func newFaulty() *faulty { return &faulty{Backend: memqueue.New(1 << 20)} }

// set changes a hook while the backend is in use.
func (f *faulty) set(hook *func(context.Context) error, to func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*hook = to
}

func (f *faulty) before(ctx context.Context, hook *func(context.Context) error) error {
	f.mu.Lock()
	h := *hook
	f.mu.Unlock()
	if h == nil {
		return nil
	}
	return h(ctx)
}

func down(context.Context) error { return errDown }

func (f *faulty) Register(ctx context.Context, topic, group string) error {
	if err := f.before(ctx, &f.register); err != nil {
		return err
	}
	return f.Backend.Register(ctx, topic, group)
}

func (f *faulty) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Delivery, error) {
	f.claims.Add(1)
	if err := f.before(ctx, &f.claim); err != nil {
		return nil, err
	}
	ds, err := f.Backend.Claim(ctx, r)
	if err := f.before(ctx, &f.afterward); err != nil {
		return nil, err
	}
	return ds, err
}

func (f *faulty) Ack(ctx context.Context, leases ...queue.Lease) error {
	if err := f.before(ctx, &f.ack); err != nil {
		return err
	}
	f.mu.Lock()
	f.acked = append(f.acked, leases)
	f.mu.Unlock()
	return f.Backend.Ack(ctx, leases...)
}

func (f *faulty) Release(ctx context.Context, rs ...queue.Release) error {
	if err := f.before(ctx, &f.release); err != nil {
		return err
	}
	return f.Backend.Release(ctx, rs...)
}

func (f *faulty) Extend(ctx context.Context, d time.Duration, leases ...queue.Lease) ([]queue.Lease, error) {
	if err := f.before(ctx, &f.extend); err != nil {
		return nil, err
	}
	return f.Backend.Extend(ctx, d, leases...)
}

func (f *faulty) NextDue(ctx context.Context, topic, group string) (time.Duration, bool, error) {
	if f.nextDue != nil {
		d, ok := f.nextDue()
		return d, ok, nil
	}
	return f.Backend.NextDue(ctx, topic, group)
}

func (f *faulty) Database() string { return f.database }

func (f *faulty) AckTx(ctx context.Context, _ any, leases ...queue.Lease) error {
	return f.Backend.Ack(ctx, leases...)
}

// bench is a transport under test in a bubble with its own clock.
type bench struct {
	*testing.T
	b *faulty
	t *queue.Transport
}

func inBubble(t *testing.T, f func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newFaulty()
		f(&bench{T: t, b: b, t: newTransport(t, b, queue.Options{})})
	})
}

func newTransport(t *testing.T, b queue.Backend, o queue.Options) *queue.Transport {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	tr, err := queue.NewTransport("test", b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) publish(names ...string) {
	b.Helper()
	for _, name := range names {
		b.must(b.t.Publisher().Publish(topic, message.NewMessage(name, []byte(name))))
	}
}

func (b *bench) subscriber(c idem.SubscriberConfig) message.Subscriber {
	b.Helper()
	if c.Group == "" {
		c.Group = group
	}
	s, err := b.t.Subscriber(c)
	b.must(err)
	return s
}

func (b *bench) subscribe(c idem.SubscriberConfig) <-chan *message.Message {
	b.Helper()
	ch, err := b.subscriber(c).Subscribe(b.Context(), topic)
	b.must(err)
	return ch
}

// next waits for the next message.
func (b *bench) next(ch <-chan *message.Message) *message.Message {
	b.Helper()
	select {
	case msg, ok := <-ch:
		if !ok {
			b.Fatal("the channel is closed")
		}
		return msg
	case <-time.After(time.Hour):
		b.Fatal("no message within an hour")
	}
	return nil
}

// none checks that nothing comes as long as no time passes.
func (b *bench) none(ch <-chan *message.Message) {
	b.Helper()
	synctest.Wait()
	select {
	case msg, ok := <-ch:
		if ok {
			b.Fatalf("got %s, want nothing", msg.UUID)
		}
		b.Fatal("the channel is closed")
	default:
	}
}

// closed checks that the channel is closed.
func (b *bench) closed(ch <-chan *message.Message) {
	b.Helper()
	synctest.Wait()
	select {
	case msg, ok := <-ch:
		if ok {
			b.Fatalf("got %s, want a closed channel", msg.UUID)
		}
	default:
		b.Fatal("the channel is open")
	}
}

func (b *bench) depth(want int) {
	b.Helper()
	synctest.Wait()
	n, _, err := b.t.Depth(b.Context(), topic, group)
	b.must(err)
	if n != want {
		b.Fatalf("depth is %d, want %d", n, want)
	}
}

func delivery(t testing.TB, msg *message.Message) *idem.Delivery {
	t.Helper()
	d, ok := idem.DeliveryFrom(msg.Context())
	if !ok {
		t.Fatal("the message has no delivery")
	}
	return d
}

func alive(t testing.TB, msg *message.Message) {
	t.Helper()
	if err := context.Cause(msg.Context()); err != nil {
		t.Fatalf("the context of %s has ended: %v", msg.UUID, err)
	}
}

func endedWith(t testing.TB, msg *message.Message, want error) {
	t.Helper()
	if got := context.Cause(msg.Context()); !errors.Is(got, want) {
		t.Fatalf("the context of %s ended with %v, want %v", msg.UUID, got, want)
	}
}

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d); synctest.Wait() }
