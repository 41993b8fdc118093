package conformance

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// flowCases are about who gets what, and how much at a time.
func flowCases() []Case {
	return []Case{
		{ID: "FLOW-01", Intent: "each group gets every message, and one that comes late gets what was published before", Needs: []Need{NeedConsumerGroups}, Run: flowGroups},
		{ID: "FLOW-02", Intent: "no more messages are in hand than the consumer's concurrency", Run: flowInFlight},
		{ID: "FLOW-03", Intent: "a paused consumer takes nothing; resumed, it loses nothing", Run: flowPaused},
		{ID: "FLOW-04", Intent: "a slow consumer before a backlog of 100,000 messages (or as many as the harness says) needs no more memory than before a short one", Run: flowBacklog},
		{ID: "FLOW-05", Intent: "closing the publisher that a router was given does not close everybody's", Run: flowClosedPublisher},
		{ID: "FLOW-06", Intent: "many producers at once: every message arrives", Run: flowProducers},
		{ID: "FLOW-07", Intent: "one topic's trouble is no other topic's: a paused consumer beside a running one", Run: flowSideBySide},
	}
}

func flowGroups(w *World) {
	all := IDs(20)
	var early, late Tally
	a := w.Consumer(w.Operation("early"), doing(&early, func(context.Context, *App, idem.Message[Event], int) error { return nil })).Start()
	a.Publish(all...)
	w.AwaitCount("first consumer", 20, early.Total)
	b := w.Consumer(w.Operation("late"), counted(&late)).Start()
	b.AwaitEffects(all...)
	early.WantRuns(w, 1, all...)
	late.WantRuns(w, 1, all...)
}

func flowInFlight(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 3
	var in, most atomic.Int32
	release := make(chan struct{})
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			n := in.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-release
			defer in.Add(-1)
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	all := IDs(60)
	a.Publish(all...)
	w.AwaitCount("a handler", 1, func() int { return int(in.Load()) })
	close(release)
	a.AwaitEffects(all...)
	if n := most.Load(); n > 3 {
		w.Errorf("%d handlers ran at once, 3 may", n)
	}
}

func flowPaused(w *World) {
	op := w.Operation("billing")
	var runs Tally
	a := w.Consumer(op, counted(&runs)).Start()
	a.Publish("0")
	a.AwaitEffects("0")
	gate := a.App.Consumer(op.Name).Gate
	gate.Pause("by the case")
	all := IDs(20)
	a.Publish(all[1:]...)
	b := w.Consumer(w.Operation("other"), func(*App) idem.HandlerFunc[Event] {
		return func(context.Context, idem.Message[Event]) error { return nil }
	}).Start()
	w.AwaitCount("the other consumer", len(all), func() int { return b.Count(idem.Done) })
	most := 1 + op.Concurrency // what it had in hand
	if op.Concurrency == 0 {
		most += 8
	}
	if n := runs.Total(); n > most {
		w.Errorf("a paused consumer ran %d messages", n)
	}
	gate.Resume()
	a.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
}

// flowBacklog measures the heap of the whole process, other cases included, so
// what it allows is much more than a consumer needs and much less than a
// backlog of 100,000 takes.
func flowBacklog(w *World) {
	backlog := w.backlog
	const allowed = 96 << 20
	op := w.Operation("billing")
	setup := w.Consumer(op, AddEffect)
	setup.Prepare(op)
	padding := make([]byte, 1500)
	for i := range padding {
		padding[i] = 'x'
	}
	const batch = 1000
	for begin := 0; begin < backlog; begin += batch {
		msgs := make([]*message.Message, batch)
		for i := range msgs {
			id := fmt.Sprint(begin + i)
			msgs[i] = w.Message(idem.Envelope{Key: []byte(id)}, fmt.Appendf(nil, `{"id":%q,"amount":1,"note":%q}`, id, padding))
		}
		setup.Send(msgs...)
	}
	before := heap()
	entered, release := make(chan struct{}, 1000), make(chan struct{})
	var once sync.Once
	end := func() { once.Do(func() { close(release) }) }
	w.Cleanup(end)
	a := w.Consumer(op, func(*App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, _ idem.Message[Event]) error {
			select {
			case entered <- struct{}{}:
			default:
			}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
	}).Start()
	<-entered
	w.AwaitCount("a full hand, or the only writer", 1, func() int { return len(entered) + 1 })
	grown := int64(heap()) - int64(before)
	end()
	w.AwaitCount("the end of 200", 200, func() int { return a.Count(idem.Done) })
	grown = max(grown, int64(heap())-int64(before))
	w.Note("a backlog of %d messages of 1.5 kB: the heap grew by %d kB", backlog, grown>>10)
	if grown > allowed {
		w.Errorf("the heap grew by %d MB before a backlog of %d messages", grown>>20, backlog)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func flowClosedPublisher(w *World) {
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	a.Publish("1")
	w.Must(a.Transport.Publisher().Close())
	a.Publish("2")
	a.AwaitEffects("1", "2")
}

func flowProducers(w *World) {
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	all := IDs(200)
	var publishing sync.WaitGroup
	for n := range 8 {
		publishing.Go(func() { a.Publish(all[n*25 : (n+1)*25]...) })
	}
	publishing.Wait()
	a.AwaitEffects(all...)
}

func flowSideBySide(w *World) {
	a := w.App()
	bad, good := w.Operation("bad"), w.Operation("good")
	good.Topic = w.Place.Topic("good")
	bad.Policy.MaxAttempts = 1
	w.Must(idem.Register(a.App, bad, idem.HandlerFunc[Event](func(context.Context, idem.Message[Event]) error { return idem.Bug(errBlip) })))
	w.Must(idem.Register(a.App, good, AddEffect(a)))
	a.Start()
	a.Publish("0")
	w.Await("pause", func() (bool, any) { return a.App.Consumer(bad.Name).Gate.Paused() != "", nil })
	all := IDs(20)
	for _, id := range all {
		w.Must(a.Transport.Publisher().Publish(good.Topic, w.Event(id)))
	}
	a.AwaitEffects(all...)
}
