package conformance

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// drainCases are about applications that are told to stop.
func drainCases() []Case {
	return []Case{
		{ID: "DRAIN-01", Intent: "what is in hand at the stop finishes, is acknowledged and never comes again", Run: drainFinishes},
		{ID: "DRAIN-02", Intent: "a stop in the middle of a batch loses nothing and repeats nothing", Run: drainMidBatch},
		{ID: "DRAIN-03", Intent: "a handler that outlives the drain has no effect; its message comes again with its attempts", Run: drainOutlived},
		{ID: "DRAIN-04", Intent: "five restarts while messages flow: each takes effect once, nothing is run twice", Run: drainRestarts},
		{ID: "DRAIN-05", Intent: "a stop while a message waits for its retry keeps message and attempts", Run: drainWaiting},
		{ID: "DRAIN-06", Intent: "a stop with nothing to do ends at once, and so does a stop while paused", Run: drainIdle},
		{ID: "DRAIN-07", Intent: "a restart behind an unfinished message neither loses it nor runs those after it again", Run: drainHole},
		{ID: "DRAIN-08", Intent: "stopping while a dead letter cannot be stored keeps the message", Run: drainBeforeDeadLetter},
		{ID: "DRAIN-09", Intent: "stopping while a breaker is open keeps the messages, at no attempt", Run: drainOpenBreaker},
		{ID: "DRAIN-10", Intent: "stopping right after the start, again and again, loses nothing", Run: drainAtOnce},
		{ID: "DRAIN-11", Intent: "one process of two stops and the other goes on with what is left: a deployment", Run: drainOneOfTwo},
		{ID: "DRAIN-12", Intent: "events that were emitted before a stop are published after it", Needs: []Need{NeedConsumerGroups}, Run: drainOutbox},
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
		if runs.Total() >= 15 {
			once.Do(func() { close(halfway) })
		}
		return effect(ctx, a, m, run)
	})
	a := w.Consumer(w.Operation("billing"), handler).Start()
	all := IDs(50)
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
	all := IDs(60)
	a := w.Consumer(op, counted(&runs)).Start()
	a.Publish(all...)
	for round := range 5 {
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

func drainHole(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 10_000
	var runs Tally
	var up atomic.Bool
	handle := func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if m.Payload.ID == "0" && !up.Load() {
				return idem.Transient(idem.RetryAfter(errBlip, 500*time.Millisecond))
			}
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}
	a := w.Consumer(op, handle).Start()
	all := IDs(30)
	a.Publish(all...)
	a.AwaitEffects(all[1:]...)
	w.Must(a.Stop())
	up.Store(true)
	b := w.Consumer(op, handle).Start()
	b.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	w.Note("%d messages came again and were recognised", b.Count(idem.Duplicate))
}

func drainBeforeDeadLetter(w *World) {
	op := w.Operation("billing")
	var up atomic.Bool
	tried := make(chan struct{}, 100)
	w.whenParked(func() fault {
		if up.Load() {
			return noFault
		}
		tried <- struct{}{}
		return refused
	})
	var runs Tally
	a := w.Consumer(op, refusing(&runs, "0")).Start()
	a.Publish("0")
	<-tried
	w.Must(a.Stop())
	up.Store(true)
	b := w.Consumer(op, refusing(&runs, "0"))
	if n := len(b.Dead()); n > 0 {
		w.Errorf("%d dead letters although none could be stored", n)
	}
	b.Start()
	if got := b.AwaitDead(1); len(got) != 1 {
		w.Errorf("%d dead letters, want one", len(got))
	}
	b.AwaitDrained(op)
	b.WantOnce()
}

func drainOpenBreaker(w *World) {
	op, handle, up, calls, runs := behindBreaker(w, 2*time.Second)
	a := w.Consumer(op, handle).Start()
	all := IDs(20)
	a.Publish(all...)
	w.AwaitCount("calls", 3, func() int { return int(calls.Load()) })
	w.Must(a.Stop())
	up.Store(true)
	b := w.Consumer(op, handle).Start()
	b.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	b.WantNoDead()
}

func drainAtOnce(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	a := w.Consumer(op, AddEffect)
	a.Prepare(op)
	all := IDs(30)
	a.Publish(all...)
	for range 3 {
		a.Start()
		w.Must(a.Stop())
		a = w.Consumer(op, AddEffect)
	}
	a.Start()
	a.AwaitEffects(all...)
	a.WantNoDead()
}

func drainOneOfTwo(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	var runs Tally
	a := w.Consumer(op, counted(&runs)).Start()
	b := w.Consumer(op, counted(&runs)).Start()
	all := IDs(60)
	b.Publish(all[:30]...)
	w.AwaitCount("runs", 5, runs.Total)
	w.Must(a.Stop())
	b.Publish(all[30:]...)
	b.AwaitEffects(all...)
	b.WantNoDead()
	runs.WantRuns(w, 1, all...)
}

func drainOutbox(w *World) {
	out := w.Topic + ".out"
	var up atomic.Bool
	mend := w.faultyPublish(func(topic string, _ []*message.Message) fault {
		if topic == out && !up.Load() {
			return refused
		}
		return noFault
	})
	defer mend()
	handle := func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if err := a.Effects.Add(ctx, m.Payload.ID); err != nil {
				return err
			}
			return idem.Emit(ctx, idem.Event{Topic: out, Payload: m.Payload})
		}
	}
	op := w.Operation("billing")
	op.Emits = []string{out}
	a := w.Consumer(op, handle).Start()
	all := IDs(5)
	a.Publish(all...)
	a.AwaitEffects(all...)
	w.Must(a.Stop())
	up.Store(true)
	b := w.Consumer(op, handle).Start()
	published := b.Tap(out)
	w.AwaitCount("published events", len(all), func() int { return len(published()) })
}
