package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// raceCases are about copies that meet at the same moment.
func raceCases() []Case {
	return []Case{
		{ID: "RACE-01", Intent: "64 copies at one instant, in two processes: one run, and no ack before its commit", Run: raceAtOneInstant},
		{ID: "RACE-02", Intent: "40 copies spread over four processes by the broker: one effect, no two runs at a time", Run: raceOverProcesses},
		{ID: "RACE-03", Intent: "when the winner fails, one of the losers runs", Run: raceWinnerFails},
		{ID: "RACE-04", Intent: "a copy is not acked while the first one may yet fail", Needs: []Need{NeedWriters}, Run: raceLoserWaits},
		{ID: "RACE-05", Intent: "copies in programs with an older and a newer key recipe: one runs", Run: raceOfRecipes},
		{ID: "RACE-06", Intent: "a key that comes with other content while the first one runs is a dead letter", Needs: []Need{NeedWriters}, Run: raceKeyReuse},
		{ID: "RACE-07", Intent: "two consumers do not wait for each other's keys", Needs: []Need{NeedWriters, NeedConsumerGroups}, Run: raceOfConsumers},
		{ID: "RACE-08", Intent: "copies of a message whose effect is an external call: one call", Run: raceOfCalls},
		{ID: "RACE-09", Intent: "a replay, two operators who ask for it and late copies at one moment: one effect", Run: raceOfReplays},
	}
}

func raceAtOneInstant(w *World) {
	const copies = 64
	var runs Tally
	a := w.App()
	var programs []message.HandlerFunc
	for range 2 {
		programs = append(programs, w.Program(w.Operation("billing"), counted(&runs)))
	}
	all := IDs(3)
	var early atomic.Int32
	for _, id := range all {
		volley(copies, func(i int) {
			inHand(programs[i%len(programs)], fmt.Appendf(nil, `{"id":%q}`, id))
			if got, err := a.Effects.Count(w.Context()); err != nil || got[id] == 0 {
				early.Add(1)
			}
		})
	}
	a.WantOnce(all...)
	runs.WantRuns(w, 1, all...)
	if n := early.Load(); n > 0 {
		w.Errorf("%d copies were acked before the commit", n)
	}
}

// volley calls f n times at one instant and waits for all of them.
func volley(n int, f func(i int)) {
	gun := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gun
			f(i)
		})
	}
	close(gun)
	wg.Wait()
}

func raceOverProcesses(w *World) {
	const copies = 40
	var runs Tally
	var apps []*App
	for range 4 {
		apps = append(apps, w.Consumer(w.Operation("billing"), counted(&runs)).Start())
	}
	for i := range copies {
		apps[i%len(apps)].PublishRaw(fmt.Sprint("lane ", i), []byte(`{"id":"1"}`))
	}
	AwaitDuplicates(copies-1, apps...)
	apps[0].AwaitEffects("1")
	runs.WantRuns(w, 1, "1")
}

func raceWinnerFails(w *World) {
	const copies = 20
	var runs Tally
	handle := func(a *App) idem.HandlerFunc[Event] { return runTwice(a, &runs, "") }
	op := w.Operation("billing")
	op.Policy.Quick = -1 // the winner gives way
	a := w.Consumer(op, handle).Start()
	b := w.Consumer(op, handle).Start()
	for i := range copies {
		a.PublishRaw(fmt.Sprint("lane ", i), []byte(`{"id":"1"}`))
	}
	AwaitDuplicates(copies-1, a, b)
	a.AwaitEffects("1")
	runs.WantRuns(w, 2, "1")
	runs.WantApart(w)
}

func raceLoserWaits(w *World) {
	const copies = 4
	var runs Tally
	entered, release := make(chan struct{}, copies), make(chan struct{})
	op := w.Operation("billing")
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			entered <- struct{}{}
			<-release
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	for i := range copies {
		a.PublishRaw(fmt.Sprint("lane ", i), []byte(`{"id":"1"}`))
	}
	<-entered
	w.AwaitCount("copies that found the key taken", 1, func() int { return a.Count(idem.Unavailable) })
	if n := a.Count(idem.Duplicate); n > 0 {
		w.Errorf("%d copies were acked while the first one ran", n)
	}
	if n, known := a.Backlog(op.Name); known && n != copies {
		w.Errorf("%d of %d messages are left while the first one runs", n, copies)
	}
	close(release)
	AwaitDuplicates(copies-1, a)
	a.AwaitEffects("1")
	runs.WantRuns(w, 1, "1")
}

func raceOfRecipes(w *World) {
	var runs Tally
	a := w.App()
	var programs []message.HandlerFunc
	for _, recipe := range []idem.KeyRecipe{coarse(), fine()} {
		programs = append(programs, w.Program(withRecipe(w, recipe), func(a *App) idem.HandlerFunc[Event] {
			return func(ctx context.Context, m idem.Message[Event]) error {
				id := fmt.Sprint(m.Payload.Amount)
				run, leave := runs.Enter(id)
				defer leave()
				if err := a.Effects.Add(ctx, id); err != nil || run > 1 {
					return err
				}
				return errBlip // the next one wins, with either recipe
			}
		}))
	}
	all := IDs(6)
	for round := range all {
		id := fmt.Sprint([]string{"a", "z"}[round%2], round) // sorts before and after "v2:…"
		volley(12, func(i int) { inHand(programs[i%2], fmt.Appendf(nil, `{"id":%q,"amount":%d}`, id, round)) })
	}
	a.WantOnce(all...)
	runs.WantApart(w)
	runs.WantRuns(w, 2, all...)
	a.WantNoDead()
}

func raceKeyReuse(w *World) {
	var runs Tally
	entered, release := make(chan int64, 10), make(chan struct{})
	a := w.Consumer(w.Operation("billing"), func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			entered <- m.Payload.Amount
			<-release
			return a.Effects.Add(ctx, fmt.Sprint(m.Payload.Amount))
		}
	}).Start()
	bodies := map[int64]string{200: `{"id":"9","amount":200}`, 500: `{"id":"9","amount":500}`}
	a.Send(w.Message(idem.Envelope{Key: []byte("a")}, []byte(bodies[200])),
		w.Message(idem.Envelope{Key: []byte("b")}, []byte(bodies[500])))
	won := <-entered
	w.AwaitCount("the other one's claim", 1, func() int { return a.Count(idem.Unavailable) })
	close(release)
	a.AwaitEffects(fmt.Sprint(won))
	if got := a.AwaitDead(1); !slices.Equal(got, []string{idem.ReasonKeyReuse}) {
		w.Fatalf("dead letters %v, want one of the reused key", got)
	}
	parked, err := a.DeadLetters.Get(w.Context(), a.Dead()[0].ID)
	w.Must(err)
	if want := bodies[700-won]; string(parked.Payload) != want {
		w.Errorf("parked %s, want %s", parked.Payload, want)
	}
	a.PublishRaw("a", []byte(bodies[won])) // still the owner of the key
	AwaitDuplicates(1, a)
	a.WantOnce(fmt.Sprint(won))
	runs.WantRuns(w, 1, "9")
}

func raceOfConsumers(w *World) {
	var both sync.WaitGroup
	both.Add(2)
	a := w.App()
	for _, name := range []string{"billing", "mail"} {
		w.Must(idem.Register(a.App, w.Operation(name), idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
			both.Done()
			both.Wait() // each has claimed the key
			return a.Effects.Add(ctx, name)
		})))
	}
	a.Start().Publish("1")
	a.AwaitEffects("billing", "mail")
}

// till is a third party that charges whenever it is called.
type till struct {
	a     *App
	calls *Tally
}

// Call implements [idem.External].
func (c till) Call(_ context.Context, m idem.Message[Event]) (string, error) {
	_, leave := c.calls.Enter(m.Key)
	defer leave()
	return "receipt " + m.Key, nil
}

// Apply implements [idem.External].
func (c till) Apply(ctx context.Context, m idem.Message[Event], _ string) error {
	return c.a.Effects.Add(ctx, m.Payload.ID)
}

func raceOfCalls(w *World) {
	const copies = 10
	var calls Tally
	var apps []*App
	for range 2 {
		a := w.App()
		w.Must(idem.RegisterExternal[Event, string](a.App, w.Operation("charge"), till{a, &calls}))
		apps = append(apps, a.Start())
	}
	all := IDs(3)
	for i := range copies {
		for _, id := range all {
			apps[0].PublishRaw(fmt.Sprint("lane ", i), fmt.Appendf(nil, `{"id":%q}`, id))
		}
	}
	AwaitDuplicates((copies-1)*len(all), apps...)
	apps[0].AwaitEffects(all...)
	calls.WantRuns(w, 1, all...)
	apps[0].WantNoDead()
}

func raceOfReplays(w *World) {
	const copies = 8
	var fixed atomic.Bool
	var runs Tally
	a := w.Consumer(w.Operation("billing"), func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if !fixed.Load() {
				return idem.Permanent(errBlip)
			}
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	a.Publish("1")
	a.AwaitDead(1)
	fixed.Store(true)
	id := a.Dead()[0].ID
	var replayed atomic.Int32
	volley(copies, func(i int) {
		if i%2 == 0 {
			a.PublishRaw(fmt.Sprint("lane ", i), []byte(`{"id":"1","amount":1}`))
		} else if a.DeadLetters.Replay(w.Context(), id, deadletter.ReplayOptions{}) == nil {
			replayed.Add(1)
		}
	})
	if replayed.Load() == 0 {
		w.Errorf("nobody could replay the dead letter")
	}
	a.AwaitEffects("1")
	w.AwaitCount("deliveries", copies/2, func() int { return a.Count(idem.Duplicate) + a.Count(idem.Done) })
	a.WantOnce("1")
	runs.WantRuns(w, 1, "1")
}
