package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/outbox"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/middleware"
	memorytransport "github.com/idem-go/idem/transports/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// order is the payload of the tests.
type order struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
}

func (o order) Validate() error {
	if o.ID == "" {
		return errors.New("id: is missing")
	}
	return nil
}

// bench is an application over the memory transport and store in a synctest
// bubble: time passes only when everything waits.
type bench struct {
	t         *testing.T
	app       *idem.App
	store     *memory.Store
	transport *memorytransport.Transport
	letters   *deadletter.Service
	breakers  *middleware.Breakers
	log       *logBook
	cancel    context.CancelFunc
	ended     chan error

	mu   sync.Mutex
	seen []middleware.Observation
}

type benchOptions struct {
	fault    func(memory.Point) error
	breakers map[string]middleware.BreakerSettings
	drain    time.Duration
	app      func(*idem.AppConfig)
}

// inBubble runs f with a bench whose consumers are registered by f itself and
// started by bench.start.
func inBubble(t *testing.T, o benchOptions, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, o)
		defer b.stop() // also when f fails: no goroutine may outlive the bubble
		f(b)
	})
}

func newBench(t *testing.T, o benchOptions) *bench {
	t.Helper()
	b := &bench{t: t, log: &logBook{}, ended: make(chan error, 1)}
	b.store = memory.New(memory.Config{Fault: o.fault})
	b.restart(o)
	return b
}

// restart builds a new application and a new transport on the same store, as
// a new process would.
func (b *bench) restart(o benchOptions) {
	b.t.Helper()
	logger := slog.New(b.log)
	if b.transport == nil {
		tr, err := memorytransport.New(memorytransport.Config{Logger: logger})
		if err != nil {
			b.t.Fatal(err)
		}
		b.transport = tr
	}
	b.breakers = middleware.NewBreakers(o.breakers)
	relay, err := outbox.New(outbox.Config{Store: b.store, Publisher: b.transport.Publisher(), Logger: logger})
	if err != nil {
		b.t.Fatal(err)
	}
	cfg := idem.AppConfig{
		Transport: b.transport, Store: b.store, Services: []idem.Service{relay}, Logger: logger,
		Chain: middleware.Chain(middleware.Options{Breakers: b.breakers, Observer: b.observe}),
	}
	cfg.Config.DrainTimeout = o.drain
	if o.app != nil {
		o.app(&cfg)
	}
	if b.app, err = idem.NewApp(cfg); err != nil {
		b.t.Fatal(err)
	}
	b.letters = deadletter.New(b.store, 0)
}

func (b *bench) observe(o middleware.Observation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, o)
}

// count returns how many deliveries ended in the given kind.
func (b *bench) count(k idem.Kind) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.seen {
		if o.Outcome == k {
			n++
		}
	}
	return n
}

// handle registers a consumer of topic "orders" whose key is the order's id.
func (b *bench) handle(op idem.Operation, h idem.HandlerFunc[order]) {
	b.t.Helper()
	if err := idem.Register(b.app, withDefaults(op), h); err != nil {
		b.t.Fatal(err)
	}
}

func withDefaults(op idem.Operation) idem.Operation {
	if op.Name == "" {
		op.Name = "billing"
	}
	if op.Topic == "" {
		op.Topic = "orders"
	}
	if op.Key.Parts == nil {
		op.Key = idem.KeyFrom(idem.FromPayload("/id"))
	}
	if op.Transaction == "" {
		op.Transaction = idem.TransactionMode(os.Getenv("IDEM_TEST_TRANSACTION"))
	}
	return op
}

func (b *bench) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	app := b.app
	go func() { b.ended <- app.Run(ctx) }()
	select {
	case <-app.Running():
	case err := <-b.ended:
		b.t.Fatalf("application did not start: %v", err)
	}
}

// stop drains the application; closing the transport is the bench's end.
func (b *bench) stop() {
	b.t.Helper()
	if err := b.halt(); err != nil {
		b.t.Errorf("application ended with %v", err)
	}
	if err := b.transport.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) halt() error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	b.cancel = nil
	return <-b.ended
}

// publish sends orders as JSON.
func (b *bench) publish(orders ...order) {
	b.t.Helper()
	for _, o := range orders {
		body, err := json.Marshal(o)
		if err != nil {
			b.t.Fatal(err)
		}
		b.publishRaw("orders", idem.Envelope{}, body)
	}
}

func (b *bench) publishRaw(topic string, e idem.Envelope, body []byte) {
	b.t.Helper()
	msg := message.NewMessage("", body)
	msg.SetContext(idem.WithEnvelope(context.Background(), e))
	if err := b.transport.Publisher().Publish(topic, msg); err != nil {
		b.t.Fatal(err)
	}
}

// settle lets everything run that can run within d of bubble time.
func (b *bench) settle(d time.Duration) {
	time.Sleep(d) // bubble time: returns once all else is blocked
	synctest.Wait()
}

// effect is the business write of the tests: one more in the store's table,
// in the handler's transaction.
func effect(ctx context.Context, id string) {
	idem.NativeTx(ctx).(*memory.Tx).Add("effect:"+id, 1)
}

// wantEffects checks how often each order took effect.
func (b *bench) wantEffects(want map[string]int64) {
	b.t.Helper()
	for id, n := range want {
		if got := b.store.Sum("effect:" + id); got != n {
			b.t.Errorf("order %s: %d effects, want %d", id, got, n)
		}
	}
}

// dead returns all dead letters and discards.
func (b *bench) dead() []idem.DeadLetter {
	b.t.Helper()
	var out []idem.DeadLetter
	for d, err := range b.letters.All(context.Background(), idem.DeadLetterQuery{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		full, err := b.letters.Get(context.Background(), d.ID)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, full)
	}
	return out
}

// wantDead checks the reasons of the dead letters, in order.
func (b *bench) wantDead(reasons ...string) []idem.DeadLetter {
	b.t.Helper()
	dead := b.dead()
	var got []string
	for _, d := range dead {
		got = append(got, d.Reason)
	}
	if strings.Join(got, " ") != strings.Join(reasons, " ") {
		b.t.Fatalf("dead letters %v, want %v", got, reasons)
	}
	return dead
}

// wantBacklog checks how many messages of a topic a group has not acknowledged.
func (b *bench) wantBacklog(topic, group string, want int) {
	b.t.Helper()
	n, _, err := b.transport.Depth(context.Background(), topic, group)
	if err != nil {
		b.t.Fatal(err)
	}
	if n != want {
		b.t.Errorf("%d messages of %s are not acknowledged by %s, want %d", n, topic, group, want)
	}
}

// logBook keeps log records for assertions.
type logBook struct {
	mu      sync.Mutex
	records []slog.Record
}

func (l *logBook) Enabled(context.Context, slog.Level) bool { return true }
func (l *logBook) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logBook) WithGroup(string) slog.Handler            { return l }
func (l *logBook) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	return nil
}

func (l *logBook) find(text string) []slog.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []slog.Record
	for _, r := range l.records {
		if strings.Contains(r.Message, text) {
			out = append(out, r)
		}
	}
	return out
}
