package conformance

import (
	"context"
	"fmt"
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
	w.Lease = 500 * time.Millisecond
	var runs Tally
	handler := doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		select {
		case <-time.After(4 * w.Lease):
		case <-ctx.Done():
			return ctx.Err()
		}
		return effect(ctx, a, m, run)
	})
	a := w.Consumer(w.Operation("billing"), handler).Start()
	w.Consumer(w.Operation("billing"), handler).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	runs.WantRuns(w, 1, "1")
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
