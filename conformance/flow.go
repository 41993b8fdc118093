package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
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
		{ID: "FLOW-08", Intent: "a rate limit is kept, and throttled messages lose no attempt", Run: flowRate},
		{ID: "FLOW-09", Intent: "a bug pauses its consumer, keeps its message and gives it all attempts when it is mended; others go on", Needs: []Need{NeedConsumerGroups}, Run: flowBugPauses},
		{ID: "FLOW-10", Intent: "the broker knows a consumer by its prefixed name, handlers and records by its own", Run: flowGroupPrefix},
		{ID: "FLOW-11", Intent: "two environments on one broker and database are told apart by their prefixes alone", Run: flowTopicPrefix},
		{ID: "FLOW-12", Intent: "three processes of one consumer share its messages", Needs: []Need{NeedConsumerGroups, NeedWriters}, Run: flowShared},
		{ID: "FLOW-13", Intent: "emitted events wait for a broker that refuses them; their effects do not", Run: flowPublishRefused},
		{ID: "FLOW-14", Intent: "an event that the broker took without saying so is published again, and takes effect once", Run: flowPublishAmbiguous},
		{ID: "FLOW-15", Intent: "a message of 700 kB passes like any other", Run: flowLargeMessage},
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
	all := IDs(24)
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
	w.AwaitCount("the end of 100", 100, func() int { return a.Count(idem.Done) })
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
	all := IDs(80)
	var publishing sync.WaitGroup
	for n := range 8 {
		publishing.Go(func() { a.Publish(all[n*10 : (n+1)*10]...) })
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

func flowRate(w *World) {
	const perSecond, messages = 10, 16
	op := w.Operation("billing")
	op.RatePerSecond, op.Policy.MaxAttempts = perSecond, 1
	var c clock
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			c.tick()
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	all := IDs(messages)
	a.Publish(all...)
	a.AwaitEffects(all...)
	a.WantNoDead()
	c.mu.Lock()
	defer c.mu.Unlock()
	// One second's worth may come at once.
	least := time.Duration(messages-1-perSecond) * time.Second / perSecond
	if took := c.begun[len(c.begun)-1].Sub(c.begun[0]); took < least*9/10 {
		w.Errorf("%d runs took %v at %d per second, want at least %v", len(c.begun), took, perSecond, least)
	}
}

func flowBugPauses(w *World) {
	var mended atomic.Bool
	var runs, others Tally
	a := w.App()
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 2
	w.Must(idem.Register(a.App, op, idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
		if !mended.Load() {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return idem.Bug(errBlip)
		}
		if m.Attempt != 1 {
			w.Errorf("after the bug is mended the run is attempt %d, want 1", m.Attempt)
		}
		return a.Effects.Add(ctx, m.Payload.ID)
	})))
	w.Must(idem.Register(a.App, w.Operation("mail"), idem.HandlerFunc[Event](func(_ context.Context, m idem.Message[Event]) error {
		_, leave := others.Enter(m.Payload.ID)
		defer leave()
		return nil
	})))
	a.Start().Publish("1")
	gate := a.App.Consumer(op.Name).Gate
	w.Await("pause", func() (bool, any) { return gate.Paused() != "", runs.Total() })
	runs.WantRuns(w, 2, "1")
	a.Publish("2")
	w.AwaitCount("runs of the other consumer", 2, others.Total)
	mended.Store(true)
	gate.Resume()
	a.AwaitEffects("1", "2")
	a.WantNoDead()
}

func flowGroupPrefix(w *World) {
	w.Config.GroupPrefix = "shop."
	op := w.Operation("billing")
	running, finish := make(chan string, 1), make(chan struct{})
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			running <- m.Consumer
			<-finish
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	a.Publish("1")
	if name := <-running; name != op.Name {
		w.Errorf("the handler's consumer is %q, want %q", name, op.Name)
	}
	if n, known := a.Backlog("shop." + op.Name); known && n != 1 {
		w.Errorf("the group with the prefix has a backlog of %d, want 1", n)
	}
	close(finish)
	a.AwaitEffects("1")
}

func flowTopicPrefix(w *World) {
	base := w.Topic
	fixed := make(chan struct{})
	start := func(prefix string) (a *App, publish func(id string)) {
		w.Config.TopicPrefix = prefix + base + "."
		a = w.App()
		orders := idem.Operation{Name: prefix + "billing-" + base, Topic: "orders", Key: coarse(), Emits: []string{"invoices"}}
		w.Must(idem.Register(a.App, orders, idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
			return idem.Emit(ctx, idem.Event{Topic: "invoices", Payload: m.Payload})
		})))
		invoices := idem.Operation{Name: prefix + "mail-" + base, Topic: "invoices", Key: coarse(), DeadLetterTopic: "unsent"}
		w.Must(idem.Register(a.App, invoices, idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
			select {
			case <-fixed:
				return a.Effects.Add(ctx, m.Payload.ID)
			default:
				return idem.Permanent(errBlip)
			}
		})))
		topic := w.Config.Topic("orders")
		return a.Start(), func(id string) {
			w.Must(a.Transport.Publisher().Publish(topic, w.Message(idem.Envelope{Key: []byte(id)}, []byte(`{"id":"`+id+`"}`))))
		}
	}
	eu, publishEU := start("eu.")
	us, publishUS := start("us.")
	inEU, inUS := eu.Tap("eu."+base+".unsent"), us.Tap("us."+base+".unsent")
	publishEU("1")
	publishUS("2")
	eu.AwaitDead(2)
	w.AwaitCount("copies", 1, func() int { return len(inEU()) })
	w.AwaitCount("copies", 1, func() int { return len(inUS()) })
	close(fixed)
	for _, d := range eu.Dead() {
		w.Must(eu.DeadLetters.Replay(w.Context(), d.ID, deadletter.ReplayOptions{}))
	}
	eu.AwaitEffects("1", "2")
	if !bytes.Equal(inEU()[0].Payload, []byte(`{"id":"1","amount":0}`)) || len(inEU())+len(inUS()) != 2 {
		w.Errorf("eu's dead letters are %d, the first %s; us has %d", len(inEU()), inEU()[0].Payload, len(inUS()))
	}
}

func flowShared(w *World) {
	const processes = 3
	op := w.Operation("billing")
	op.Concurrency = 1
	var mu sync.Mutex
	busy := map[*App]bool{}
	all := make(chan struct{})
	handle := func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			mu.Lock()
			if busy[a] = true; len(busy) == processes {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			mu.Unlock()
			<-all // each process has one in hand
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}
	var apps []*App
	for range processes {
		apps = append(apps, w.Consumer(op, handle).Start())
	}
	ids := IDs(30)
	apps[0].Publish(ids...)
	apps[0].AwaitEffects(ids...)
	apps[0].WantNoDead()
}

func flowPublishRefused(w *World) {
	var tries atomic.Int32
	var up atomic.Bool
	a, out := emitting(w, func() fault {
		if up.Load() {
			return noFault
		}
		tries.Add(1)
		return refused
	})
	a.Publish("1", "2")
	a.AwaitEffects("1", "2")
	w.AwaitCount("tries", 2, func() int { return int(tries.Load()) })
	up.Store(true)
	a.AwaitEffects("1", "2", "out1", "out2")
	if published := a.Tap(out); len(published()) > 2 {
		w.Errorf("%d events were published, want 2", len(published()))
	}
}

func flowPublishAmbiguous(w *World) {
	a, _ := emitting(w, first(1, lostReply))
	a.Publish("1")
	a.AwaitEffects("1", "out1")
	AwaitDuplicates(1, a)
	a.WantOnce("1", "out1")
	a.WantNoDead()
}

func flowLargeMessage(w *World) {
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	size := 700_000
	if most := a.Transport.Capabilities().MaxMessageBytes; most > 0 {
		size = min(size, most/2)
	}
	a.Publish("1")
	a.PublishRaw("2", fmt.Appendf(nil, `{"id":"2","padding":%q}`, strings.Repeat("x", size)))
	a.Publish("3")
	a.AwaitEffects("1", "2", "3")
}

func emitting(w *World, next func() fault) (a *App, out string) {
	out = w.Topic + ".out"
	w.faultyPublish(func(topic string, _ []*message.Message) fault {
		if topic != out {
			return noFault
		}
		return next()
	})
	a = w.App()
	w.Must(idem.Register(a.App, w.Operation("billing"), idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
		return errors.Join(a.Effects.Add(ctx, m.Payload.ID), idem.Emit(ctx, idem.Event{Topic: out, Payload: Event{ID: "out" + m.Payload.ID}}))
	})))
	mail := w.Operation("mail")
	mail.Topic = out
	w.Must(idem.Register(a.App, mail, AddEffect(a)))
	return a.Start(), out
}
