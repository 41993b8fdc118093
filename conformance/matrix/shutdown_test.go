package matrix

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// What is in hand when the application is told to stop finishes, is
// acknowledged, and never comes again.
func TestDrainFinishesWhatIsInHand(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		op := w.operation("billing")
		op.Concurrency = 4
		var runs tally
		entered, release := make(chan struct{}, 100), make(chan struct{})
		handle := func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				entered <- struct{}{}
				<-release
				return p.effect(ctx, m.Payload.ID)
			}
		}
		a := w.process(t, op, handle).start()
		a.publish(ids(4)...)
		<-entered
		ended := make(chan error)
		go func() { ended <- a.stop() }()
		a.await("drain", func() (bool, any) { return a.App.Consumer(op.Name).Gate.Closed(), "gate open" })
		close(release)
		if err := <-ended; err != nil {
			t.Errorf("drain: %v", err)
		}
		b := w.process(t, op, handle)
		if n, known := b.backlog(op.Name); known && n != 4-runs.total() {
			t.Errorf("%d messages were run and %d are left of 4", runs.total(), n)
		}
		b.start()
		all := ids(20)
		b.publish(all[4:]...) // come after what is left
		b.awaitEffects(all...)
		runs.wantRuns(t, 1, all...)
		if n := b.count(idem.Duplicate); n > 0 {
			t.Errorf("%d handled messages came again", n)
		}
	})
}

// Closing in the middle of a batch loses nothing and delivers nothing twice.
func TestCloseInTheMiddleOfABatch(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		halfway := make(chan struct{})
		var once sync.Once
		var runs tally
		handle := func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				if runs.total() >= 30 {
					once.Do(func() { close(halfway) })
				}
				return p.effect(ctx, m.Payload.ID)
			}
		}
		a := w.process(t, w.operation("billing"), handle).start()
		all := ids(100)
		a.publish(all...)
		<-halfway
		if err := a.stop(); err != nil {
			t.Errorf("drain: %v", err)
		}
		b := w.process(t, w.operation("billing"), handle).start()
		b.awaitEffects(all...)
		runs.wantRuns(t, 1, all...)
		if n := b.count(idem.Duplicate); n > 0 {
			t.Errorf("%d handled messages came again", n)
		}
	})
}

// A handler that outlives the drain has no effect, whatever it says in the
// end. Its message is not given up, has lost no attempt and comes again.
func TestHandlerThatOutlivesTheDrain(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.cfg.DrainTimeout = 200 * time.Millisecond
		op := w.operation("billing")
		op.Policy.MaxAttempts = 1
		all := ids(3)
		entered := make(chan struct{}, 100)
		a := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				if err := p.effect(ctx, m.Payload.ID); err != nil {
					return err
				}
				entered <- struct{}{}
				<-ctx.Done()
				return map[string]error{"0": ctx.Err(), "1": idem.Permanent(errBlip), "2": nil}[m.Payload.ID]
			}
		}).start()
		a.publish(all...)
		<-entered
		if err := a.stop(); err == nil || !strings.Contains(err.Error(), "drain") {
			t.Errorf("the application ended with %v, want an error that tells of the drain", err)
		}
		var runs tally
		b := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				if m.Attempt != 1 {
					t.Errorf("event %s comes back as attempt %d, want 1", m.Payload.ID, m.Attempt)
				}
				return p.effect(ctx, m.Payload.ID)
			}
		})
		b.wantOnce()
		b.start()
		b.awaitEffects(all...)
		runs.wantRuns(t, 1, all...)
		b.wantNoDead()
	})
}

// A router closes the publisher of each handler that ends. Everybody else
// goes on publishing.
func TestClosedPublisherServesTheOthers(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error { return p.effect(ctx, m.Payload.ID) }
		}).start()
		p.publish("1")
		must(t, p.Transport.Publisher().Close())
		p.publish("2")
		p.awaitEffects("1", "2")
	})
}
