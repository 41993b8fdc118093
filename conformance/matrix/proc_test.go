package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
)

// proc is one application on a world.
type proc struct {
	parts
	t        *testing.T
	w        *world
	cancel   context.CancelFunc
	ended    chan error
	closeAll func()

	mu   sync.Mutex
	seen map[idem.Kind]int
}

// operation is the consumer of the scenarios: its key is the event's id, its
// delays are short.
func (w *world) operation(name string) idem.Operation {
	return idem.Operation{
		Name: name + "-" + w.topic, Topic: w.topic, Key: idem.KeyFrom(idem.FromPayload("/id")),
		Policy: idem.Policy{Backoff: idem.Backoff{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}},
	}
}

// app assembles an application without consumers.
func (w *world) app(t *testing.T) *proc {
	t.Helper()
	p := &proc{t: t, w: w, seen: map[idem.Kind]int{}}
	o := wiring.Options{Logger: slog.New(slog.DiscardHandler), Observer: func(o middleware.Observation) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[o.Outcome]++
	}}
	var err error
	p.parts, p.closeAll, err = w.build(t.Context(), w.cfg, o)
	must(t, err)
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// process assembles an application with one consumer.
func (w *world) process(t *testing.T, op idem.Operation, handle func(p *proc) idem.HandlerFunc[event]) *proc {
	t.Helper()
	p := w.app(t)
	must(t, idem.Register(p.App, op, handle(p)))
	return p
}

func (p *proc) start() *proc {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.ended = cancel, make(chan error, 1)
	go func() { p.ended <- p.App.Run(ctx) }()
	select {
	case <-p.App.Running():
	case err := <-p.ended:
		p.ended <- err
		p.t.Fatalf("application did not start: %v", err)
	}
	return p
}

// stop drains the application and closes it; the second call does nothing.
func (p *proc) stop() (err error) {
	if p.cancel != nil {
		p.cancel()
		p.cancel = nil
		err = <-p.ended
	}
	if p.closeAll != nil {
		p.closeAll()
		p.closeAll = nil
	}
	return err
}

func (p *proc) count(k idem.Kind) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[k]
}

// publish sends events at once and in order; the ordering key is the id.
func (p *proc) publish(ids ...string) {
	p.t.Helper()
	msgs := make([]*message.Message, len(ids))
	for i, id := range ids {
		body, err := json.Marshal(event{ID: id, Amount: 1})
		must(p.t, err)
		msgs[i] = p.message(idem.Envelope{Key: []byte(id)}, body)
	}
	must(p.t, p.Transport.Publisher().Publish(p.w.topic, msgs...))
}

func (p *proc) message(e idem.Envelope, body []byte) *message.Message {
	msg := message.NewMessage("", body)
	msg.SetContext(idem.WithEnvelope(p.t.Context(), e))
	return msg
}

// tap reads a topic as a group of its own, from its beginning, and returns
// what it has read so far.
func (p *proc) tap(topic string) func() []*message.Message {
	p.t.Helper()
	sub, err := p.Transport.Subscriber(idem.SubscriberConfig{Group: "tap-" + topic, Logger: slog.New(slog.DiscardHandler)})
	must(p.t, err)
	in, err := sub.Subscribe(context.Background(), topic)
	must(p.t, err)
	var mu sync.Mutex
	var got []*message.Message
	done := make(chan struct{})
	go func() {
		defer close(done)
		for msg := range in {
			mu.Lock()
			got = append(got, msg)
			mu.Unlock()
			msg.Ack()
		}
	}()
	p.t.Cleanup(func() {
		_ = sub.Close()
		<-done
	})
	return func() []*message.Message {
		mu.Lock()
		defer mu.Unlock()
		return got[:len(got):len(got)]
	}
}

// patience is how long a condition may take to become true.
const patience = 60 * time.Second

// await polls a condition until it holds; what says what is missing.
func (p *proc) await(what string, cond func() (ok bool, state any)) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, state := cond()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not after %v; last seen: %v", what, patience, state)
		}
		<-tick.C
	}
}

// awaitCount waits until a number has reached n.
func (p *proc) awaitCount(what string, n int, count func() int) {
	p.t.Helper()
	p.await(what, func() (bool, any) { got := count(); return got >= n, got })
}

// awaitEffects waits until each id has its effect, then checks that none has two.
func (p *proc) awaitEffects(ids ...string) {
	p.t.Helper()
	p.await("effects", func() (bool, any) {
		got, err := p.effects(p.t.Context())
		if err != nil {
			return false, err
		}
		var missing []string
		for _, id := range ids {
			if got[id] == 0 {
				missing = append(missing, id)
			}
		}
		return len(missing) == 0, fmt.Sprintf("missing %s", strings.Join(missing, " "))
	})
	p.wantOnce(ids...)
}

// wantOnce checks that exactly these ids took effect, once each.
func (p *proc) wantOnce(ids ...string) {
	p.t.Helper()
	got, err := p.effects(p.t.Context())
	must(p.t, err)
	for _, id := range ids {
		if got[id] != 1 {
			p.t.Errorf("event %s took effect %d times, want once", id, got[id])
		}
		delete(got, id)
	}
	if len(got) > 0 {
		p.t.Errorf("effects that nobody asked for: %v", got)
	}
}

// awaitDead waits for n dead letters and returns their reasons.
func (p *proc) awaitDead(n int) (reasons []string) {
	p.t.Helper()
	p.await("dead letters", func() (bool, any) {
		reasons = nil
		for _, d := range p.dead() {
			reasons = append(reasons, d.Reason)
		}
		return len(reasons) >= n, reasons
	})
	return reasons
}

// dead returns the dead letters, without payloads.
func (p *proc) dead() []idem.DeadLetter {
	p.t.Helper()
	list, err := p.DeadLetters.List(p.t.Context(), idem.DeadLetterQuery{})
	must(p.t, err)
	return list
}

// wantNoDead checks that nothing was given up.
func (p *proc) wantNoDead() {
	p.t.Helper()
	for _, d := range p.dead() {
		p.t.Errorf("dead letter of key %q: %s after %d attempts: %s", d.Key, d.Reason, d.Attempts, d.Error)
	}
}

// tally counts handler runs by event, and those that overlap another run of
// the same event.
type tally struct {
	mu       sync.Mutex
	runs     map[string]int
	running  map[string]int
	overlaps []string
}

// enter begins a run; it returns its number, from 1, and how it ends.
func (y *tally) enter(id string) (run int, leave func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.runs == nil {
		y.runs, y.running = map[string]int{}, map[string]int{}
	}
	y.runs[id]++
	y.running[id]++
	if y.running[id] > 1 {
		y.overlaps = append(y.overlaps, id)
	}
	return y.runs[id], func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.running[id]--
	}
}

// of returns how often an event was run, total the runs of all.
func (y *tally) of(id string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.runs[id]
}

func (y *tally) total() (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, runs := range y.runs {
		n += runs
	}
	return n
}

// wantRuns checks that each event was run n times.
func (y *tally) wantRuns(t *testing.T, n int, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if got := y.of(id); got != n {
			t.Errorf("event %s was run %d times, want %d", id, got, n)
		}
	}
}

// wantApart checks that no two runs of one event overlapped.
func (y *tally) wantApart(t *testing.T) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.overlaps) > 0 {
		t.Errorf("run twice at the same time: %v", y.overlaps)
	}
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
