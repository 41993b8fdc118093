package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// leaseCases are about a message that is given to somebody else while its owner
// still works on it.
func leaseCases() []Case {
	return []Case{
		{ID: "LEASE-01", Intent: "a handler that takes many times the lease runs alone and once", Run: leaseOutlived},
		{ID: "LEASE-02", Intent: "a message is given to somebody else while its handler runs and knows: one effect, runs never overlap", Needs: []Need{NeedLoss, NeedWriters}, Run: func(w *World) { leaseLost(w, true) }},
		{ID: "LEASE-03", Intent: "a message is given to somebody else and its handler goes on regardless: one effect, runs never overlap", Needs: []Need{NeedLoss, NeedWriters}, Run: func(w *World) { leaseLost(w, false) }},
		{ID: "LEASE-04", Intent: "one of twenty messages outlives its lease and fails, again and again: the others take effect and nothing comes back", Run: leaseSlowFailure},
		{ID: "LEASE-05", Intent: "an owner that was cut off acknowledges late: nothing is lost, nothing doubled", Needs: []Need{NeedLoss, NeedWriters}, Run: leaseLateAck},
		{ID: "LEASE-06", Intent: "an owner is lost while later messages are done and an earlier one is not: the earlier one comes again", Needs: []Need{NeedLoss, NeedWriters}, Run: leaseHole},
		{ID: "LEASE-07", Intent: "messages that are taken away again and again while they flow have one effect each", Needs: []Need{NeedLoss}, Run: leaseTakenAway},
		{ID: "LEASE-08", Intent: "a second process joins while handlers do not stop and one keeps failing: one effect each, attempts counted over both", Needs: []Need{NeedWriters}, Run: leaseStubborn},
		{ID: "LEASE-09", Intent: "a handler that learns that its message was given away is told so, and has no effect", Needs: []Need{NeedExpireLeases, NeedWriters}, Run: leaseLostKnown},
	}
}

// lose lets the messages in the hand of a go to somebody else. The result says
// that a may work again.
func (w *World) lose(a *App) (restore func()) {
	w.Helper()
	if a.Cut != nil {
		return a.Cut()
	}
	w.Place.Faults.ExpireLeases(w)
	return func() {}
}

func leaseOutlived(w *World) {
	// A machine that is busy enough may miss to renew a short lease in time.
	for lease := 200 * time.Millisecond; lease <= 1600*time.Millisecond; lease *= 2 {
		w.Lease = lease
		op := w.Operation("billing-" + lease.String())
		op.Topic += "." + lease.String()
		var runs Tally
		handle := func(a *App) idem.HandlerFunc[Event] {
			return func(ctx context.Context, m idem.Message[Event]) error {
				_, leave := runs.Enter(m.Payload.ID)
				defer leave()
				select {
				case <-time.After(5 * lease):
				case <-ctx.Done():
					return ctx.Err()
				}
				return a.Effects.Add(ctx, m.Payload.ID)
			}
		}
		a := w.Consumer(op, handle).Start()
		b := w.Consumer(op, handle).Start()
		w.Must(a.Transport.Publisher().Publish(op.Topic, w.Event(lease.String())))
		w.Await("effect", func() (bool, any) {
			got, err := a.Effects.Count(w.Context())
			return err == nil && got[lease.String()] > 0, got
		})
		w.Must(a.Stop())
		w.Must(b.Stop())
		runs.WantApart(w)
		w.Note("with a lease of %v and a handler of %v: %d runs", lease, 5*lease, runs.Total())
		if runs.Total() == 1 {
			return
		}
	}
	w.Errorf("with every lease the message was given to a second process while the handler ran")
}

func leaseLost(w *World, listens bool) {
	if listens {
		w.Lease = 300 * time.Millisecond // so that it gets to know
	}
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	op.Concurrency = 1
	var runs Tally
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a := w.Consumer(op, doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		err := effect(ctx, a, m, run)
		once.Do(func() { close(entered) })
		if listens {
			<-ctx.Done()
		}
		<-release
		return err
	})).Start()
	a.Publish("1")
	<-entered
	a.App.Consumer(op.Name).Gate.Pause("so that the other one gets it")
	b := w.Consumer(op, counted(&runs)).Start()
	restore := w.lose(a)
	if !a.Effects.SingleWriter {
		w.AwaitCount("deliveries to the new owner", 1, func() int { return b.Count(idem.Unavailable) })
	}
	close(release)
	b.AwaitEffects("1")
	restore()
	w.Await("an empty queue", func() (bool, any) { n, known := b.Backlog(op.Name); return n == 0 || !known, n })
	b.WantOnce("1")
	runs.WantApart(w)
	b.WantNoDead()
	w.Note("%d runs", runs.Of("1"))
}

func leaseSlowFailure(w *World) {
	w.Lease = time.Second
	op := w.Operation("billing")
	op.Policy.MaxAttempts, op.Policy.Quick = 2, -1
	const slow = "7"
	var runs Tally
	a := w.Consumer(op, doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		if m.Payload.ID == slow {
			select {
			case <-time.After(w.Lease + w.Lease/2):
				return errBlip
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return effect(ctx, a, m, run)
	}))
	all := IDs(20)
	a.Start().Publish(all...)
	good := without(all, slow)
	a.AwaitEffects(good...)
	a.WantDead(idem.ReasonExhausted)
	w.Await("an empty queue", func() (bool, any) { n, known := a.Backlog(op.Name); return n == 0 || !known, n })
	runs.WantRuns(w, 1, good...)
	runs.WantRuns(w, op.Policy.MaxAttempts, slow)
}

func leaseLateAck(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 4
	var runs Tally
	entered, release := make(chan struct{}, 100), make(chan struct{})
	a := w.Consumer(op, doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		entered <- struct{}{}
		<-release
		return effect(ctx, a, m, run)
	})).Start()
	all := IDs(30)
	a.Publish(all...)
	<-entered
	restore := w.lose(a)
	b := w.Consumer(op, counted(&runs)).Start()
	close(release) // what a had in hand commits or not, and is acknowledged in vain
	b.AwaitEffects(all...)
	restore()
	w.Must(a.Stop())
	w.Must(b.Stop())
	c := w.Consumer(op, counted(&runs)).Start()
	c.Publish("last")
	c.AwaitEffects(append(all, "last")...)
	c.WantNoDead()
	runs.WantApart(w)
}

func leaseHole(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 16
	var runs Tally
	entered, release := make(chan struct{}, 100), make(chan struct{})
	a := w.Consumer(op, doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		if m.Payload.ID == "0" {
			entered <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return context.Canceled // it never takes effect here
		}
		return effect(ctx, a, m, run)
	})).Start()
	all := IDs(40)
	var msgs []*message.Message
	for i, id := range all { // in as few partitions as the broker allows, under keys of their own
		msgs = append(msgs, w.Message(idem.Envelope{Key: fmt.Append(nil, i)}, fmt.Appendf(nil, `{"id":%q,"amount":1}`, id)))
	}
	a.Send(msgs[0])
	<-entered
	a.Send(msgs[1:]...)
	if !a.Effects.SingleWriter {
		a.AwaitEffects(all[1:]...)
	}
	a.App.Consumer(op.Name).Gate.Pause("so that the other one gets it")
	restore := w.lose(a)
	close(release)
	b := w.Consumer(op, counted(&runs)).Start()
	b.AwaitEffects(all...)
	restore()
	b.WantNoDead()
}

func leaseTakenAway(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	var runs Tally
	handle := func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			err := a.Effects.Add(ctx, m.Payload.ID)
			select { // work, during which it is taken away
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
			return err
		}
	}
	a := w.Consumer(op, handle).Start()
	b := w.Consumer(op, handle).Start()
	all := IDs(60)
	b.Publish(all...)
	if a.Cut != nil {
		w.AwaitCount("runs", 5, runs.Total)
		restore := a.Cut()
		b.AwaitEffects(all...)
		restore()
	} else {
		for round := range 5 {
			w.AwaitCount("runs", 10*(round+1), runs.Total)
			w.Place.Faults.ExpireLeases(w)
		}
		b.AwaitEffects(all...)
	}
	w.Note("%d runs for %d events", runs.Total(), len(all))
	runs.WantApart(w)
	b.WantNoDead()
}

func leaseStubborn(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 20
	op.Policy.MaxAttempts, op.Policy.Quick = 12, -1
	op.Policy.Backoff = idem.Backoff{Base: 500 * time.Millisecond, Max: 500 * time.Millisecond}
	stubborn := IDs(8) // some in each partition, where there are any
	const failing = "99"
	var runs Tally
	release := make(chan struct{})
	handle := func(stops bool) func(a *App) idem.HandlerFunc[Event] {
		return func(a *App) idem.HandlerFunc[Event] {
			return func(ctx context.Context, m idem.Message[Event]) error {
				_, leave := runs.Enter(m.Payload.ID)
				defer leave()
				if err := a.Effects.Add(ctx, m.Payload.ID); err != nil {
					return err
				}
				switch {
				case m.Payload.ID == failing:
					return errBlip
				case !stops:
					<-release // whatever its context says
				}
				return nil
			}
		}
	}
	a := w.Consumer(op, handle(false)).Start()
	a.Publish(append(stubborn, failing)...)
	w.AwaitCount("handlers", len(stubborn), func() int { return runs.Total() - runs.Of(failing) })
	b := w.Consumer(op, handle(true)).Start()
	w.AwaitCount("runs of the failing message", 6, func() int { return runs.Of(failing) })
	close(release)
	b.AwaitEffects(stubborn...)
	runs.WantApart(w)
	if got := b.AwaitDead(1); !slices.Equal(got, []string{idem.ReasonExhausted}) {
		w.Errorf("dead letters %v, want one of the failing message", got)
	}
	runs.WantRuns(w, op.Policy.MaxAttempts, failing) // of all owners together
	w.Note("%d messages had a second owner", runs.Total()-runs.Of(failing)-len(stubborn))
}

func leaseLostKnown(w *World) {
	w.Lease = 200 * time.Millisecond
	cause := make(chan error, 1)
	a, b, runs, release := giveAway(w, func(ctx context.Context) {
		<-ctx.Done()
		cause <- context.Cause(ctx)
	})
	if err := <-cause; !errors.Is(err, idem.ErrLeaseLost) {
		w.Errorf("the handler's context ended because of %v, want the lost lease", err)
	}
	release()
	b.AwaitEffects("1")
	w.AwaitCount("the old owner giving up", 1, func() int { return a.Count(idem.Abandon) })
	b.WantOnce("1")
	runs.WantApart(w)
	b.WantNoDead()
}

func giveAway(w *World, until func(ctx context.Context)) (a, b *App, runs *Tally, release func()) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	runs = &Tally{}
	entered, released := make(chan struct{}), make(chan struct{})
	a = w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			err := a.Effects.Add(ctx, m.Payload.ID)
			if m.Payload.ID == "1" {
				close(entered)
				until(ctx)
				<-released
			}
			return err
		}
	}).Start()
	a.Publish("1")
	<-entered
	a.App.Consumer(op.Name).Gate.Pause("so that the other one gets it")
	b = w.Consumer(op, counted(runs)).Start()
	if a.Cut != nil {
		w.Cleanup(a.Cut())
	} else {
		w.Place.Faults.ExpireLeases(w)
	}
	w.AwaitCount("deliveries to the new owner", 1, func() int { return b.Count(idem.Unavailable) })
	return a, b, runs, func() { close(released) }
}
