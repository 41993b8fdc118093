package conformance

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// App is one application on a world.
type App struct {
	Process
	App         *idem.App
	DeadLetters *deadletter.Service

	w      *World
	cancel context.CancelFunc
	ended  chan error

	mu   sync.Mutex
	seen map[idem.Kind]int
}

// Start runs the application and returns when it consumes.
func (a *App) Start() *App {
	a.w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel, a.ended = cancel, make(chan error, 1)
	go func() { a.ended <- a.App.Run(ctx) }()
	select {
	case <-a.App.Running():
	case err := <-a.ended:
		a.ended <- err
		a.w.Fatalf("application did not start: %v", err)
	}
	return a
}

// Stop drains the application and closes its process; the second call does
// nothing.
func (a *App) Stop() (err error) {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
		err = <-a.ended
		if err != nil && err.Error() == routerSlow {
			a.w.Note("stopping: %v, on a machine that has no time", err)
			err = nil
		}
	}
	if a.Close != nil {
		a.Close()
		a.Close = nil
	}
	return err
}

// routerSlow is what Watermill's router says when it was not closed in time, its
// handlers having ended.
const routerSlow = "router close timeout"

// Prepare makes what a start makes, for cases that publish before it.
func (a *App) Prepare(op idem.Operation) {
	a.w.Helper()
	a.w.Must(a.Store.Migrate(a.w.Context()))
	a.w.Must(a.Transport.EnsureTopics(a.w.Context(), op.Topic, op.RetryTopic(), op.Topic+".dlq"))
}

// Count returns how many deliveries have ended in this way.
func (a *App) Count(k idem.Kind) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[k]
}

// Send publishes messages to the case's topic, in order.
func (a *App) Send(msgs ...*message.Message) {
	a.w.Helper()
	a.w.Must(a.Transport.Publisher().Publish(a.w.Topic, msgs...))
}

// Publish sends events at once and in order; the ordering key is the id.
func (a *App) Publish(ids ...string) {
	a.w.Helper()
	msgs := make([]*message.Message, len(ids))
	for i, id := range ids {
		msgs[i] = a.w.Event(id)
	}
	a.Send(msgs...)
}

// PublishRaw sends one message with this ordering key and payload.
func (a *App) PublishRaw(key string, body []byte) {
	a.w.Helper()
	a.Send(a.w.Message(idem.Envelope{Key: []byte(key)}, body))
}

// Tap reads a topic as a group of its own, from its beginning, and returns what
// it has read so far.
func (a *App) Tap(topic string) func() []*message.Message {
	a.w.Helper()
	sub, err := a.Transport.Subscriber(idem.SubscriberConfig{Group: "tap-" + topic, Logger: slog.New(slog.DiscardHandler)})
	a.w.Must(err)
	in, err := sub.Subscribe(context.Background(), topic)
	a.w.Must(err)
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
	a.w.Cleanup(func() {
		_ = sub.Close()
		<-done
	})
	return func() []*message.Message {
		mu.Lock()
		defer mu.Unlock()
		return got[:len(got):len(got)]
	}
}

// Backlog is what a group has not acknowledged of the case's topic, where the
// transport can tell.
func (a *App) Backlog(group string) (n int, known bool) {
	a.w.Helper()
	queue, ok := inner(a.Transport).(interface {
		Depth(ctx context.Context, topic, group string) (int, time.Duration, error)
	})
	if !ok {
		return 0, false
	}
	n, _, err := queue.Depth(a.w.Context(), a.w.Topic, group)
	a.w.Must(err)
	return n, true
}

// AwaitDrained waits until a group has nothing left of the case's topic, where
// the transport can tell.
func (a *App) AwaitDrained(op idem.Operation) {
	a.w.Helper()
	a.w.Await("an empty queue", func() (bool, any) { n, known := a.Backlog(a.w.Config.Group(op.Name)); return n == 0 || !known, n })
}

// inner takes the kit's wrapping off.
func inner(t idem.Transport) idem.Transport {
	for {
		wrapper, ok := t.(interface{ Unwrap() idem.Transport })
		if !ok {
			return t
		}
		t = wrapper.Unwrap()
	}
}

// AwaitEffects waits until each id has its effect, then checks that none has
// two and that there are no others.
func (a *App) AwaitEffects(ids ...string) {
	a.w.Helper()
	a.w.Await("effects", func() (bool, any) {
		got, err := a.Effects.Count(a.w.Context())
		if err != nil {
			return false, err
		}
		var missing []string
		for _, id := range ids {
			if got[id] == 0 {
				missing = append(missing, id)
			}
		}
		return len(missing) == 0, "missing " + strings.Join(missing, " ")
	})
	a.WantOnce(ids...)
}

// WantOnce checks that exactly these ids took effect, once each.
func (a *App) WantOnce(ids ...string) {
	a.w.Helper()
	got, err := a.Effects.Count(a.w.Context())
	a.w.Must(err)
	wrong := 0
	for _, id := range ids {
		if got[id] != 1 {
			wrong++
			a.w.Errorf("event %s took effect %d times, want once", id, got[id])
		}
		delete(got, id)
	}
	if len(got) > 0 {
		a.w.Errorf("effects that nobody asked for: %v", got)
	}
	a.w.Note("%d of %d events have exactly one effect", len(ids)-wrong, len(ids))
}

// AwaitDead waits for n dead letters and returns their reasons.
func (a *App) AwaitDead(n int) (reasons []string) {
	a.w.Helper()
	a.w.Await("dead letters", func() (bool, any) {
		reasons = nil
		for _, d := range a.Dead() {
			reasons = append(reasons, d.Reason)
		}
		return len(reasons) >= n, reasons
	})
	a.w.Note("dead letters: %s", strings.Join(reasons, ", "))
	return reasons
}

// Dead returns the dead letters, without payloads.
func (a *App) Dead() []idem.DeadLetter {
	a.w.Helper()
	list, err := a.DeadLetters.List(a.w.Context(), idem.DeadLetterQuery{})
	a.w.Must(err)
	return list
}

// WantNoDead checks that nothing was given up.
func (a *App) WantNoDead() {
	a.w.Helper()
	for _, d := range a.Dead() {
		a.w.Errorf("dead letter of key %q: %s after %d attempts: %s", d.Key, d.Reason, d.Attempts, d.Error)
	}
}

// AwaitDuplicates waits until the applications have recognised n duplicates.
func AwaitDuplicates(n int, apps ...*App) {
	w := apps[0].w
	w.Helper()
	w.AwaitCount("duplicates", n, func() (sum int) {
		for _, a := range apps {
			sum += a.Count(idem.Duplicate)
		}
		return sum
	})
	w.Note("%d duplicates recognised", n)
}

// WantDead waits for as many dead letters as there are reasons and checks that
// these are theirs, in any order.
func (a *App) WantDead(reasons ...string) {
	a.w.Helper()
	got := a.AwaitDead(len(reasons))
	slices.Sort(got)
	slices.Sort(reasons)
	if !slices.Equal(got, reasons) {
		a.w.Errorf("dead letters for %v, want %v", got, reasons)
	}
}
