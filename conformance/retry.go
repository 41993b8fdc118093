package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// errBlip is what handlers of the cases fail with.
var errBlip = errors.New("blip")

// retryCases are about handlers that fail, and what counts as an attempt.
func retryCases() []Case {
	return []Case{
		{ID: "RETRY-01", Intent: "a handler that writes and then fails twice leaves one effect, not three", Run: retryLeavesNothing},
		{ID: "RETRY-02", Intent: "a message that always fails runs exactly its attempts, then is a dead letter", Run: retryExhausted},
		{ID: "RETRY-03", Intent: "attempts are counted across restarts", Run: retryAcrossRestarts},
		{ID: "RETRY-04", Intent: "a permanent failure is run once", Run: retryPermanent},
		{ID: "RETRY-05", Intent: "the delay that a handler asks for is kept", Run: retryDelay},
		{ID: "RETRY-06", Intent: "a long delay outlives the process that asked for it, and the attempts with it", Run: retryDelayIsDurable},
		{ID: "RETRY-07", Intent: "a window told by somebody else is waited for, as often as it takes, at no attempt; nothing spins", Run: retryRateLimited},
		{ID: "RETRY-08", Intent: "while a breaker is open the dependency is left alone, and no message is given up or loses an attempt", Run: retryBreaker},
		{ID: "RETRY-09", Intent: "a breaker that is open for longer than the cap on deliveries gives up no message", Run: retryBreakerBeyondTheCap},
		{ID: "RETRY-10", Intent: "a run that exceeds its time-out is an attempt; the next one has a fresh context", Run: retryTimeout},
		{ID: "RETRY-11", Intent: "a commit whose answer is lost is read back: one effect whether it took effect or not, at no attempt", Run: retryUnknownCommit},
		{ID: "RETRY-12", Intent: "a commit that the database refuses for a while is no attempt", Run: retryRefusedCommit},
		{ID: "RETRY-13", Intent: "an outage of broker and database while messages flow loses, doubles and gives up nothing", Needs: []Need{NeedOutage}, Run: retryOutage},
		{ID: "RETRY-14", Intent: "connections that are cut again and again while messages flow lose, double and give up nothing", Needs: []Need{NeedDropConnections}, Run: retryCutConnections},
		{ID: "RETRY-15", Intent: "attempts and key of a message that failed under an older key recipe go on", Run: retryAcrossRecipes},
		{ID: "RETRY-16", Intent: "an external call without an answer is not made again but parked as unknown", Run: retryUnknownCall},
		{ID: "RETRY-17", Intent: "an external call that was begun under an older key recipe is asked for by its old key, not made again", Run: retryCallAcrossRecipes},
	}
}

// runTwice fails each event's first run after its effect is written. Effects
// have the prefix and the event's id.
func runTwice(a *App, runs *Tally, prefix string) idem.HandlerFunc[Event] {
	return func(ctx context.Context, m idem.Message[Event]) error {
		id := prefix + m.Payload.ID
		run, leave := runs.Enter(id)
		defer leave()
		if err := a.Effects.Add(ctx, id); err != nil || run > 1 {
			return err
		}
		return errBlip
	}
}

// failing writes its effect and fails with err, until a message has had so many
// runs; then it succeeds.
func failing(runs *Tally, until int, err error) func(a *App) idem.HandlerFunc[Event] {
	return func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			run, leave := runs.Enter(m.Payload.ID)
			defer leave()
			if failed := a.Effects.Add(ctx, m.Payload.ID); failed != nil || run > until {
				return failed
			}
			return err
		}
	}
}

const always = 1 << 30

func retryLeavesNothing(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), failing(&runs, 2, errBlip)).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	runs.WantRuns(w, 3, "1")
}

func retryExhausted(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 4
	var mu sync.Mutex
	var attempts []int
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			mu.Lock()
			defer mu.Unlock()
			attempts = append(attempts, m.Attempt)
			return errors.Join(a.Effects.Add(ctx, m.Payload.ID), errBlip)
		}
	}).Start()
	a.Publish("1")
	a.AwaitDead(1)
	a.AwaitDrained(op)
	mu.Lock()
	defer mu.Unlock()
	if d := a.Dead()[0]; !slices.Equal(attempts, []int{1, 2, 3, 4}) || d.Reason != idem.ReasonExhausted || d.Attempts != 4 {
		w.Errorf("runs were told to be attempts %v, the dead letter is %s after %d; want 4 and %s", attempts, d.Reason, d.Attempts, idem.ReasonExhausted)
	}
	a.WantOnce()
}

func retryAcrossRestarts(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts, op.Policy.Quick = 6, -1
	var runs Tally
	a := w.Consumer(op, failing(&runs, always, errBlip)).Start()
	a.Publish("1")
	for process := range 2 {
		w.AwaitCount("runs", 2*(process+1), func() int { return runs.Of("1") })
		w.Must(a.Stop())
		a = w.Consumer(op, failing(&runs, always, errBlip)).Start()
	}
	a.AwaitDead(1)
	runs.WantRuns(w, op.Policy.MaxAttempts, "1")
	a.WantOnce()
}

func retryPermanent(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), failing(&runs, always, idem.Permanent(errBlip))).Start()
	a.Publish("1")
	if got := a.AwaitDead(1); !slices.Equal(got, []string{idem.ReasonPermanent}) {
		w.Errorf("dead letters %v, want one", got)
	}
	runs.WantRuns(w, 1, "1")
	a.WantOnce()
}

// clock tells when runs began.
type clock struct {
	mu    sync.Mutex
	begun []time.Time
}

func (c *clock) tick() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = append(c.begun, time.Now())
	return len(c.begun)
}

// wantApart checks that each run began so long after the one before.
func (c *clock) wantApart(w *World, delay time.Duration) {
	w.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 1; i < len(c.begun); i++ {
		gap := c.begun[i].Sub(c.begun[i-1])
		if w.Note("run %d came %v after the one before; asked for %v", i+1, gap.Round(time.Millisecond), delay); gap < delay-5*time.Millisecond {
			w.Errorf("run %d came after %v, want not before %v", i+1, gap, delay)
		}
	}
}

// afterDelays fails its first runs and asks for a delay each time.
func afterDelays(c *clock, fails int, mark func(error) error, delay time.Duration) func(a *App) idem.HandlerFunc[Event] {
	return func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if c.tick() <= fails {
				return mark(idem.RetryAfter(errBlip, delay))
			}
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}
}

func retryDelay(w *World) {
	const delay = 400 * time.Millisecond
	var c clock
	a := w.Consumer(w.Operation("billing"), afterDelays(&c, 2, idem.Transient, delay)).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	c.wantApart(w, delay)
}

func retryDelayIsDurable(w *World) {
	const delay = 2 * time.Second
	var c clock
	op := w.Operation("billing")
	op.Unordered = true
	op.Policy.MaxAttempts = 2
	handle := afterDelays(&c, 1, idem.Transient, delay)
	a := w.Consumer(op, handle).Start()
	a.Publish("1")
	w.AwaitCount("retry", 1, func() int { return a.Count(idem.Retry) })
	w.Must(a.Stop())
	b := w.Consumer(op, handle).Start()
	b.AwaitEffects("1")
	c.wantApart(w, delay)
	b.WantNoDead()
}

func retryRateLimited(w *World) {
	const window, windows = 150 * time.Millisecond, 6
	var c clock
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	handle := afterDelays(&c, windows, func(err error) error { return err }, window)
	a := w.Consumer(op, handle).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	c.wantApart(w, window)
	a.WantNoDead()
}

// behindBreaker is a consumer whose dependency is down until up is set.
func behindBreaker(w *World, openFor time.Duration) (op idem.Operation, handle func(a *App) idem.HandlerFunc[Event], up *atomic.Bool, calls *atomic.Int32, runs *Tally) {
	w.Config.Breakers = map[string]idem.BreakerConfig{"gateway": {Failures: 3, OpenFor: openFor}}
	op = w.Operation("billing")
	op.Dependency, op.Policy.MaxAttempts = "gateway", 1
	up, calls, runs = new(atomic.Bool), new(atomic.Int32), new(Tally)
	return op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if !up.Load() {
				calls.Add(1)
				return idem.DependencyDown(errors.New("503"))
			}
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}, up, calls, runs
}

func retryBreaker(w *World) {
	const openFor = 200 * time.Millisecond
	op, handle, up, calls, runs := behindBreaker(w, openFor)
	a := w.Consumer(op, handle)
	all := IDs(30)
	begun := time.Now()
	a.Start().Publish(all...)
	atOnce := a.App.Consumer(op.Name).Concurrency // may be in hand when the breaker opens
	w.AwaitCount("probes", atOnce+3, func() int { return int(calls.Load()) })
	if n, most := int(calls.Load()), atOnce+1+int(time.Since(begun)/openFor); n > most {
		w.Errorf("the dependency was called %d times during the outage, want at most %d", n, most)
	}
	up.Store(true)
	a.AwaitEffects(all...)
	a.WantNoDead()
	runs.WantRuns(w, 1, all...)
}

func retryBreakerBeyondTheCap(w *World) {
	op, handle, up, _, _ := behindBreaker(w, 50*time.Millisecond)
	op.Policy.MaxDeliveries = 3
	a := w.Consumer(op, handle).Start()
	a.Publish("1")
	rounds := 10
	if most := a.Transport.Capabilities().MaxDeliveries; most > 0 {
		rounds = max(rounds, most+1)
	}
	w.AwaitCount("deliveries", rounds, func() int { return a.Count(idem.Unavailable) })
	up.Store(true)
	a.AwaitEffects("1")
	a.WantNoDead()
}

func retryTimeout(w *World) {
	op := w.Operation("billing")
	op.Policy.Timeout, op.Policy.MaxAttempts = time.Second, 2
	var runs Tally
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			run, leave := runs.Enter(m.Payload.ID)
			defer leave()
			if run == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			if m.Attempt != 2 {
				w.Errorf("the second run is attempt %d, want 2", m.Attempt)
			}
			return errors.Join(ctx.Err(), a.Effects.Add(ctx, m.Payload.ID))
		}
	}).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	runs.WantRuns(w, 2, "1")
	a.WantNoDead()
}

func retryUnknownCommit(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	commits := 0
	var mu sync.Mutex
	w.faulty(func(u *unit) fault {
		if !u.done {
			return noFault
		}
		mu.Lock()
		defer mu.Unlock()
		if commits++; commits > 6 {
			return noFault
		}
		return []fault{lostReply, lostCommit}[commits%2]
	})
	var runs Tally
	a := w.Consumer(op, counted(&runs)).Start()
	all := IDs(10)
	a.Publish(all...)
	a.AwaitEffects(all...)
	a.AwaitDrained(op)
	if want := len(all) + 3; runs.Total() != want {
		w.Errorf("%d runs, want %d: only those whose commit was lost are repeated", runs.Total(), want)
	}
	a.WantNoDead()
	if w.Place.Faults.BreakCommit == nil {
		return
	}
	for i, applied := range []bool{true, false} { // and as the database itself breaks it
		id := []string{"with", "without"}[i]
		w.Place.Faults.BreakCommit(w, applied)
		a.Publish(id)
		all = append(all, id)
		a.AwaitEffects(all...)
	}
	a.WantNoDead()
}

func retryRefusedCommit(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	next := first(5, refused)
	w.faulty(func(u *unit) fault {
		if !u.done {
			return noFault
		}
		return next()
	})
	a := w.Consumer(op, AddEffect).Start()
	all := IDs(10)
	a.Publish(all...)
	a.AwaitEffects(all...)
	a.WantNoDead()
}

func retryOutage(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	var runs Tally
	a := w.Consumer(op, counted(&runs)).Start()
	all := IDs(30)
	a.Publish(all...)
	for round := range 2 {
		w.AwaitCount("runs", 8*(round+1), runs.Total)
		restore := w.Place.Faults.Outage(w)
		<-time.After(300 * time.Millisecond) // that long it lasts
		restore()
	}
	a.AwaitEffects(all...)
	a.WantNoDead()
}

func retryCutConnections(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	var runs Tally
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			err := a.Effects.Add(ctx, m.Payload.ID)
			<-time.After(10 * time.Millisecond) // work, during which it is cut
			return err
		}
	}).Start()
	all := IDs(150)
	for range 2 {
		a.Publish(all...)
	}
	for round := 1; round <= 4; round++ {
		w.AwaitCount("runs", round*25, runs.Total)
		w.Place.Faults.DropConnections(w)
	}
	a.AwaitEffects(all...)
	if w.Note("%d runs for %d events", runs.Total(), len(all)); runs.Total() == len(all) {
		w.Errorf("no run was disturbed: the case has proved nothing")
	}
	a.WantNoDead()
}
