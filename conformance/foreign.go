package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// foreignCases are about producers that know nothing of idem: no headers of ours,
// no ordering key, some without a message id.
func foreignCases() []Case {
	needs := []Need{NeedStrangers}
	return []Case{
		{ID: "FOREIGN-01", Intent: "what strangers publish takes effect once for each key in its payload", Needs: needs, Run: foreignKeys},
		{ID: "FOREIGN-02", Intent: "what strangers publish without a key takes effect once for each message, also after a rewind", Needs: needs, Run: foreignDerived},
		{ID: "FOREIGN-03", Intent: "bytes of strangers that are no JSON are dead letters as they came, and hold nobody back", Needs: needs, Run: foreignBytes},
		{ID: "FOREIGN-04", Intent: "a stranger's message that fails is retried and given up like any other, and can be replayed", Needs: needs, Run: foreignRetried},
		{ID: "FOREIGN-05", Intent: "a plain Watermill message has its key in the metadata", Run: foreignWatermill},
		{ID: "FOREIGN-06", Intent: "messages with nothing that tells them apart are told apart by their position", Run: foreignNameless},
		{ID: "FOREIGN-07", Intent: "a message without a key stops the consumer where the operation says so, and is kept", Run: foreignMissingKeyFails},
	}
}

func foreignKeys(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), counted(&runs)).Start()
	const each = 5
	var want []string
	sent := 0
	for name, publish := range w.Place.Strangers(w) {
		for i := range each {
			id := fmt.Sprintf("%s %d", name, i)
			for range 2 {
				publish(w.Topic, fmt.Appendf(nil, `{"id":%q}`, id))
				sent++
			}
			want = append(want, id)
		}
	}
	a.AwaitEffects(want...)
	AwaitDuplicates(sent-len(want), a)
	runs.WantRuns(w, 1, want...)
	a.WantNoDead()
}

func foreignDerived(w *World) {
	op := w.Operation("mail")
	op.Key, op.OnMissingKey = idem.KeyFrom(idem.FromHeader("event-id")), idem.MissingDerives
	op.Policy.Quick = -1 // each try is a delivery of its own
	var runs Tally
	start := func() *App {
		return w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
			return func(ctx context.Context, m idem.Message[Event]) error {
				run, leave := runs.Enter(m.Key)
				defer leave()
				if err := a.Effects.Add(ctx, m.Key); err != nil || run > 1 {
					return err
				}
				return errBlip
			}
		}).Start()
	}
	a := start()
	const each = 10
	want := 0
	for name, publish := range w.Place.Strangers(w) {
		for range each {
			publish(w.Topic, fmt.Appendf(nil, `{"id":%q}`, name))
			want++
		}
	}
	check := func(a *App) {
		w.Helper()
		var got map[string]int
		w.Await("effects", func() (bool, any) {
			var err error
			got, err = a.Effects.Count(w.Context())
			return err == nil && len(got) >= want, len(got)
		})
		for _, n := range got {
			if n != 1 {
				w.Errorf("a message took effect %d times, want once", n)
			}
		}
		if len(got) != want {
			w.Errorf("%d effects, want %d", len(got), want)
		}
		a.WantNoDead()
	}
	check(a)
	if w.Place.Faults.Rewind == nil {
		return
	}
	w.Must(a.Stop())
	w.Place.Faults.Rewind(w, w.Topic, op.Name)
	b := start()
	AwaitDuplicates(want, b)
	check(b)
}

func foreignBytes(w *World) {
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	bodies := [][]byte{{0xff, 0x00, 0xfe}, []byte(`{"id":`), []byte("plain text")}
	n := 0
	for _, publish := range w.Place.Strangers(w) {
		for _, body := range bodies {
			publish(w.Topic, body)
			n++
		}
		publish(w.Topic, []byte(`{"id":"1"}`))
	}
	a.AwaitEffects("1")
	a.AwaitDead(n)
	for _, d := range a.Dead() {
		full, err := a.DeadLetters.Get(w.Context(), d.ID)
		w.Must(err)
		if d.Reason != idem.ReasonUndecodable || !oneOf(full.Payload, bodies) {
			w.Errorf("a dead letter for %s whose %d bytes are not what was sent", d.Reason, len(full.Payload))
		}
	}
}

func oneOf(body []byte, list [][]byte) bool {
	for _, b := range list {
		if string(b) == string(body) {
			return true
		}
	}
	return false
}

func foreignRetried(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts, op.Policy.Quick = 3, -1
	var runs Tally
	a := w.Consumer(op, failing(&runs, 3, errBlip)).Start()
	var ids []string
	for name, publish := range w.Place.Strangers(w) {
		publish(w.Topic, fmt.Appendf(nil, `{"id":%q}`, name))
		ids = append(ids, name)
	}
	a.AwaitDead(len(ids))
	runs.WantRuns(w, 3, ids...)
	for _, d := range a.Dead() {
		w.Must(a.DeadLetters.Replay(w.Context(), d.ID, deadletter.ReplayOptions{}))
	}
	a.AwaitEffects(ids...)
	runs.WantRuns(w, 4, ids...)
}

func foreignWatermill(w *World) {
	var runs Tally
	op := w.Operation("billing")
	op.Key = idem.KeyFrom(idem.FromHeader("event-id"))
	a := w.Consumer(op, counted(&runs)).Start()
	all := IDs(6)
	for range 2 {
		for _, id := range all {
			msg := message.NewMessage("", fmt.Appendf(nil, `{"id":%q}`, id))
			msg.Metadata.Set("event-id", "event "+id)
			a.Send(msg)
		}
	}
	AwaitDuplicates(len(all), a)
	a.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
}

func foreignNameless(w *World) {
	const messages = 6
	var runs Tally
	op, handle := derived(w, &runs)
	a := w.Consumer(op, handle).Start()
	for range messages {
		a.Send(w.Message(idem.Envelope{}, []byte(`{"id":"the same"}`)))
	}
	wantDerived(a, messages)
}

func foreignMissingKeyFails(w *World) {
	op := w.Operation("billing")
	op.Key, op.OnMissingKey = idem.KeyFrom(idem.FromHeader("event-id")), idem.MissingFails
	a := w.Consumer(op, AddEffect).Start()
	a.Publish("1")
	gate := a.App.Consumer(op.Name).Gate
	w.Await("pause", func() (bool, any) { return gate.Paused() != "", a.Count(idem.Pause) })
	if n, known := a.Backlog(op.Name); known && n != 1 {
		w.Errorf("%d messages are left, want the one without a key", n)
	}
	a.WantNoDead()
	w.Must(a.Stop())
	op.OnMissingKey = idem.MissingDerives // the operator has changed his mind
	b := w.Consumer(op, AddEffect).Start()
	b.AwaitEffects("1")
}

func derived(w *World, runs *Tally) (op idem.Operation, handle func(a *App) idem.HandlerFunc[Event]) {
	op = w.Operation("mail")
	op.Key, op.OnMissingKey = idem.KeyFrom(idem.FromHeader("event-id")), idem.MissingDerives
	op.Policy.Quick = -1 // each try is a delivery of its own
	return op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			run, leave := runs.Enter(m.Key)
			defer leave()
			if err := a.Effects.Add(ctx, m.Key); err != nil || run > 1 {
				return err
			}
			return errBlip
		}
	}
}

func wantDerived(a *App, n int) {
	a.w.Helper()
	var got map[string]int
	a.w.Await("effects", func() (bool, any) {
		var err error
		got, err = a.Effects.Count(a.w.Context())
		return err == nil && len(got) >= n, len(got)
	})
	a.WantOnce(slices.Collect(maps.Keys(got))...)
	if len(got) != n {
		a.w.Errorf("%d messages took effect, want %d", len(got), n)
	}
	a.WantNoDead()
}
