package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
)

// Event is the payload of the cases.
type Event struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

// World is what a case works on: a place, on which any number of applications
// run as so many processes would.
type World struct {
	*testing.T
	Place Place
	// Config is what applications are assembled with.
	Config idem.Config
	// Lease of a message, for transports that have leases; 0 leaves it to the
	// transport. Applications take it when they are assembled.
	Lease time.Duration
	// Wrap, if set, is put around the transport of each process; the result may
	// have a method Unwrap.
	Wrap func(idem.Transport) idem.Transport
	// WrapStore, if set, is put around the store that the consumers of each
	// process use; the operators' part and [App.Store] are without it.
	WrapStore func(idem.Store) idem.Store
	// Topic is the topic of the case, and what its other names begin with.
	Topic string

	store   idem.Store // the kit's own, if the harness brings none
	effects Effects

	backlog  int           // of the harness
	patience time.Duration // of the harness

	mu    sync.Mutex
	notes []string
}

func newWorld(t *testing.T, p Place) *World {
	w := &World{T: t, Place: p, patience: patience}
	if w.Place.Topic == nil {
		word := strings.ToLower(rand.Text()[:10])
		w.Place.Topic = func(name string) string { return "t_" + word + "_" + name }
	}
	w.Topic = w.Place.Topic("events")
	return w
}

// Note writes down what was done or seen, for the report.
func (w *World) Note(format string, args ...any) {
	w.Helper()
	line := fmt.Sprintf(format, args...)
	w.Log(line)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, line)
}

// Errorf is that of testing.T, and a note.
func (w *World) Errorf(format string, args ...any) {
	w.Helper()
	w.keep(fmt.Sprintf(format, args...))
	w.T.Errorf(format, args...)
}

// Fatalf is that of testing.T, and a note.
func (w *World) Fatalf(format string, args ...any) {
	w.Helper()
	w.keep(fmt.Sprintf(format, args...))
	w.T.Fatalf(format, args...)
}

func (w *World) keep(failure string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, "FAILED: "+failure)
}

// Must ends the case if err is not nil.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v", err)
	}
}

// Open makes a process on the place, with the case's lease and wrapping.
func (w *World) Open() Process {
	w.Helper()
	p := w.Place.Open(w.T)
	if p.Store == nil {
		if w.store == nil {
			w.store, w.effects = MemoryStore()
		}
		p.Store, p.Effects = w.store, w.effects
	}
	if p.Close == nil {
		p.Close = func() {}
	}
	if w.Lease > 0 {
		p.Transport = leased{p.Transport, w.Lease}
	}
	if w.Wrap != nil {
		p.Transport = w.Wrap(p.Transport)
	}
	return p
}

// leased is a transport whose subscribers have this lease.
type leased struct {
	idem.Transport
	lease time.Duration
}

// Unwrap returns the transport under test.
func (l leased) Unwrap() idem.Transport { return l.Transport }

// Subscriber implements [idem.Transport].
func (l leased) Subscriber(cfg idem.SubscriberConfig) (message.Subscriber, error) {
	cfg.Lease = l.lease
	return l.Transport.Subscriber(cfg)
}

// Operation returns a consumer's contract: its key is the event's id, its delays
// are short.
func (w *World) Operation(name string) idem.Operation {
	return idem.Operation{
		Name: name + "-" + w.Topic, Topic: w.Topic, Key: idem.KeyFrom(idem.FromPayload("/id")),
		Policy: idem.Policy{Backoff: idem.Backoff{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}},
	}
}

// App assembles an application without consumers, in a process of its own.
func (w *World) App() *App {
	w.Helper()
	a := &App{Process: w.Open(), w: w, seen: map[idem.Kind]int{}}
	w.Cleanup(func() { _ = a.Stop() })
	log := slog.New(slog.DiscardHandler)
	o := wiring.Options{Logger: log, Observer: a.observe}
	store := a.Store
	if w.WrapStore != nil {
		store = w.WrapStore(store)
	}
	relay, err := wiring.NewRelay(w.Config, o, a.Store, a.Transport, log)
	w.Must(err)
	a.DeadLetters = wiring.NewDeadLetters(a.Store)
	a.App, err = wiring.NewApp(w.Config, o, a.Transport, store, relay, wiring.NewBreakers(w.Config), log)
	w.Must(err)
	return a
}

func (a *App) observe(o middleware.Observation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[o.Outcome]++
}

// Consumer assembles an application with one consumer. handle gets the
// application and returns the consumer's handler.
func (w *World) Consumer(op idem.Operation, handle func(a *App) idem.HandlerFunc[Event]) *App {
	w.Helper()
	a := w.App()
	w.Must(idem.Register(a.App, op, handle(a)))
	return a
}

// Program is a consumer in a process of its own that no broker feeds: what it
// does with a message that is handed to it.
func (w *World) Program(op idem.Operation, handle func(a *App) idem.HandlerFunc[Event]) message.HandlerFunc {
	w.Helper()
	a := w.App()
	w.Must(a.Store.Migrate(w.Context()))
	engine, err := idem.NewEngine(a.Store, nil, idem.Classifier{}, slog.New(slog.DiscardHandler))
	w.Must(err)
	c, err := idem.NewConsumer(engine, w.Config.Apply(op), handle(a))
	w.Must(err)
	chain, err := middleware.Chain(middleware.Options{})(c)
	w.Must(err)
	run := func(*message.Message) ([]*message.Message, error) { return nil, nil }
	for _, m := range slices.Backward(chain) {
		run = m(run)
	}
	return run
}

// AddEffect is the usual handler: the event's id takes effect.
func AddEffect(a *App) idem.HandlerFunc[Event] {
	return func(ctx context.Context, m idem.Message[Event]) error { return a.Effects.Add(ctx, m.Payload.ID) }
}

// counted is AddEffect with its runs counted.
func counted(runs *Tally) func(a *App) idem.HandlerFunc[Event] {
	return func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}
}

// Message returns a message without a message id.
func (w *World) Message(e idem.Envelope, body []byte) *message.Message {
	msg := message.NewMessage("", body)
	msg.SetContext(idem.WithEnvelope(w.Context(), e))
	return msg
}

// Event returns a message with an event; its ordering key is the id.
func (w *World) Event(id string) *message.Message {
	body, err := json.Marshal(Event{ID: id, Amount: 1})
	w.Must(err)
	return w.Message(idem.Envelope{Key: []byte(id)}, body)
}

// patience is how long a condition may take to become true, if the harness does
// not say: machines that test are slow.
const patience = 2 * time.Minute

// Await polls a condition until it holds; state is what was last seen.
func (w *World) Await(what string, cond func() (ok bool, state any)) {
	w.Helper()
	deadline := time.Now().Add(w.patience)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 160*time.Millisecond) {
		ok, state := cond()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: not after %v; last seen: %v", what, w.patience, state)
		}
		time.Sleep(wait)
	}
}

// AwaitCount waits until a number has reached n.
func (w *World) AwaitCount(what string, n int, count func() int) {
	w.Helper()
	w.Await(what, func() (bool, any) { got := count(); return got >= n, got })
}

// IDs returns the ids "0" to "n-1".
func IDs(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}
