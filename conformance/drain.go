package conformance

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// drainCases are about applications that are told to stop.
func drainCases() []Case {
	return []Case{
		{ID: "DRAIN-01", Intent: "what is in hand at the stop finishes, is acknowledged and never comes again", Run: drainFinishes},
		{ID: "DRAIN-02", Intent: "a stop in the middle of a batch loses nothing and repeats nothing", Run: drainMidBatch},
		{ID: "DRAIN-03", Intent: "a handler that outlives the drain has no effect; its message comes again with its attempts", Run: drainOutlived},
		{ID: "DRAIN-04", Intent: "ten restarts while messages flow: each takes effect once, nothing is run twice", Run: drainRestarts},
		{ID: "DRAIN-05", Intent: "a stop while a message waits for its retry keeps message and attempts", Run: drainWaiting},
		{ID: "DRAIN-06", Intent: "a stop with nothing to do ends at once, and so does a stop while paused", Run: drainIdle},
	}
}

func drainFinishes(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 4
	var runs Tally
	entered, release := make(chan struct{}, 100), make(chan struct{})
	handler := doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		entered <- struct{}{}
		<-release
		return effect(ctx, a, m, run)
	})
	a := w.Consumer(op, handler).Start()
	a.Publish(IDs(4)...)
	<-entered
	ended := make(chan error)
	go func() { ended <- a.Stop() }()
	w.Await("drain", func() (bool, any) { return a.App.Consumer(op.Name).Gate.Closed(), "gate open" })
	close(release)
	if err := <-ended; err != nil {
		w.Errorf("drain: %v", err)
	}
	b := w.Consumer(op, handler)
	if n, known := b.Backlog(op.Name); known && n != 4-runs.Total() {
		w.Errorf("%d messages were run and %d are left of 4", runs.Total(), n)
	}
	b.Start()
	all := IDs(20)
	b.Publish(all[4:]...) // come after what is left
	b.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	if n := b.Count(idem.Duplicate); n > 0 {
		w.Errorf("%d handled messages came again", n)
	}
}

func drainMidBatch(w *World) {
	halfway := make(chan struct{})
	var once sync.Once
	var runs Tally
	handler := doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		if runs.Total() >= 30 {
			once.Do(func() { close(halfway) })
		}
		return effect(ctx, a, m, run)
	})
	a := w.Consumer(w.Operation("billing"), handler).Start()
	all := IDs(100)
	a.Publish(all...)
	<-halfway
	if err := a.Stop(); err != nil {
		w.Errorf("drain: %v", err)
	}
	b := w.Consumer(w.Operation("billing"), handler).Start()
	b.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	if n := b.Count(idem.Duplicate); n > 0 {
		w.Errorf("%d handled messages came again", n)
	}
}

func drainOutlived(w *World) {
	w.Config.DrainTimeout = 200 * time.Millisecond
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	all := IDs(3)
	entered := make(chan struct{}, 100)
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if err := a.Effects.Add(ctx, m.Payload.ID); err != nil {
				return err
			}
			entered <- struct{}{}
			<-ctx.Done()
			return map[string]error{"0": ctx.Err(), "1": idem.Permanent(errBlip), "2": nil}[m.Payload.ID]
		}
	}).Start()
	a.Publish(all...)
	<-entered
	if err := a.Stop(); err == nil || !strings.Contains(err.Error(), "drain") {
		w.Errorf("the application ended with %v, want an error that tells of the drain", err)
	}
	var runs Tally
	b := w.Consumer(op, doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		if m.Attempt != 1 {
			w.Errorf("event %s comes back as attempt %d, want 1", m.Payload.ID, m.Attempt)
		}
		return effect(ctx, a, m, run)
	}))
	b.WantOnce()
	b.Start()
	b.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	b.WantNoDead()
}

func drainRestarts(w *World) {
	var runs Tally
	op := w.Operation("billing")
	all := IDs(120)
	a := w.Consumer(op, counted(&runs)).Start()
	a.Publish(all...)
	for round := range 10 {
		w.AwaitCount("runs", min(round*8, len(all)), runs.Total)
		w.Must(a.Stop())
		a = w.Consumer(op, counted(&runs)).Start()
	}
	a.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	a.WantNoDead()
}

func drainWaiting(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts, op.Policy.Quick = 3, -1
	op.Policy.Backoff = idem.Backoff{Base: 300 * time.Millisecond, Max: 300 * time.Millisecond}
	var runs Tally
	handler := failing(&runs, 2, errBlip)
	a := w.Consumer(op, handler).Start()
	a.Publish("1")
	w.AwaitCount("the first failure", 1, func() int { return a.Count(idem.Retry) })
	w.Must(a.Stop())
	b := w.Consumer(op, handler).Start()
	b.AwaitEffects("1")
	runs.WantRuns(w, 3, "1")
	b.WantNoDead()
}

func drainIdle(w *World) {
	op := w.Operation("billing")
	w.Must(w.Consumer(op, AddEffect).Start().Stop())
	a := w.Consumer(op, AddEffect).Start()
	a.App.Consumer(op.Name).Gate.Pause("by the case")
	a.Publish("1")
	w.Must(a.Stop())
	b := w.Consumer(op, AddEffect).Start()
	b.AwaitEffects("1")
}
