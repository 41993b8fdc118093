package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// dupCases are about messages that come more than once.
func dupCases() []Case {
	groups := []Need{NeedConsumerGroups}
	return []Case{
		{ID: "DUP-01", Intent: "every event comes three times, to two processes: one effect each", Run: dupTwoProcesses},
		{ID: "DUP-02", Intent: "a key that one consumer has processed is new to another", Needs: groups, Run: dupPerConsumer},
		{ID: "DUP-03", Intent: "copies that come one after the other are acked without a run", Run: dupInSequence},
		{ID: "DUP-04", Intent: "copies between messages with other keys are recognised", Run: dupInterleaved},
		{ID: "DUP-05", Intent: "copies that come after a restart are recognised", Run: dupAcrossRestart},
		{ID: "DUP-06", Intent: "every event comes three times while members come and go: one effect each, and no two runs at a time", Run: dupAcrossMembers},
		{ID: "DUP-07", Intent: "a copy of a dead letter that was replayed is recognised", Run: dupAfterReplay},
		{ID: "DUP-08", Intent: "an event produced again, with another message id, ordering key and headers, is the same by its business key", Run: dupProducedTwice},
		{ID: "DUP-09", Intent: "copies that come while a message waits for its retry neither double its effect nor add to its attempts", Run: dupWhileRetrying},
		{ID: "DUP-10", Intent: "copies of a dead letter make no second dead letter", Run: dupOfDeadLetter},
		{ID: "DUP-11", Intent: "a group that is set back to the beginning has every effect once", Needs: []Need{NeedRewind}, Run: dupAfterRewind},
		{ID: "DUP-12", Intent: "what an older key recipe has processed is known to the newer one, and the other way round", Run: dupAcrossRecipes},
		{ID: "DUP-13", Intent: "a copy within the retention is recognised, after it the key is new", Run: dupRetention},
		{ID: "DUP-14", Intent: "a used key with other content is a dead letter, not a duplicate", Run: dupKeyReuse},
		{ID: "DUP-15", Intent: "a used key with other content is discarded with audit where the operation says so", Run: dupKeyReuseDiscards},
		{ID: "DUP-16", Intent: "what a handler emits is published once, for all copies and tries, and only with its effect", Needs: groups, Run: dupEmits},
	}
}

func dupTwoProcesses(w *World) {
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	b := w.Consumer(w.Operation("billing"), AddEffect).Start()
	all := IDs(24)
	for range 3 {
		a.Publish(all...)
	}
	a.AwaitEffects(all...)
	AwaitDuplicates(48, a, b)
	a.WantOnce(all...)
}

func dupPerConsumer(w *World) {
	var runs Tally
	a := w.App()
	for name, prefix := range map[string]string{"billing": "1", "mail": "2"} {
		w.Must(idem.Register(a.App, w.Operation(name), runTwice(a, &runs, prefix)))
	}
	a.Start()
	all := IDs(8)
	for range 3 {
		a.Publish(all...)
	}
	var both []string
	for _, id := range all {
		both = append(both, "1"+id, "2"+id)
	}
	AwaitDuplicates(2*len(both), a)
	a.AwaitEffects(both...)
	runs.WantRuns(w, 2, both...)
}

func dupInSequence(w *World) {
	var runs Tally
	op := w.Operation("billing")
	a := w.Consumer(op, counted(&runs)).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	for n := range 5 {
		a.Publish("1")
		AwaitDuplicates(n+1, a)
	}
	a.AwaitDrained(op)
	a.WantOnce("1")
	runs.WantRuns(w, 1, "1")
}

func dupInterleaved(w *World) {
	var runs Tally
	op := w.Operation("billing")
	a := w.Consumer(op, counted(&runs)).Start()
	all := IDs(15)
	var stream []string
	for i, id := range all {
		stream = append(stream, id)
		for _, back := range []int{1, 5} {
			if i >= back {
				stream = append(stream, all[i-back])
			}
		}
	}
	a.Publish(stream...)
	AwaitDuplicates(len(stream)-len(all), a)
	a.AwaitDrained(op)
	a.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
}

func dupAcrossRestart(w *World) {
	var runs Tally
	op := w.Operation("billing")
	all := IDs(8)
	a := w.Consumer(op, counted(&runs)).Start()
	a.Publish(all...)
	a.AwaitEffects(all...)
	for range 2 {
		w.Must(a.Stop())
		a = w.Consumer(op, counted(&runs)).Start()
		a.Publish(all...)
		AwaitDuplicates(len(all), a)
	}
	a.WantOnce(all...)
	runs.WantRuns(w, 1, all...)
}

func dupAcrossMembers(w *World) {
	var runs Tally
	op := w.Operation("billing")
	handle := func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			run, leave := runs.Enter(m.Payload.ID)
			defer leave()
			if err := a.Effects.Add(ctx, m.Payload.ID); err != nil {
				return err
			}
			if run == 1 && len(m.Payload.ID) == 1 {
				return errBlip
			}
			return nil
		}
	}
	all := IDs(45)
	a := w.Consumer(op, handle).Start()
	a.Publish(all[:30]...)
	b := w.Consumer(op, handle).Start()
	b.Publish(all[15:]...)
	w.AwaitCount("runs", 15, runs.Total)
	c := w.Consumer(op, handle).Start()
	w.Must(a.Stop())
	c.Publish(all...)
	c.Publish(all[:15]...)
	c.Publish(all[30:]...)
	c.AwaitEffects(all...)
	w.Must(b.Stop())
	AwaitDuplicates(2*len(all), a, b, c)
	c.WantOnce(all...)
	c.WantNoDead()
	runs.WantApart(w)
}

func dupAfterReplay(w *World) {
	var fixed atomic.Bool
	a := w.Consumer(w.Operation("billing"), func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if !fixed.Load() {
				return idem.Permanent(errBlip)
			}
			return a.Effects.Add(ctx, m.Key)
		}
	}).Start()
	a.Publish("1")
	a.AwaitDead(1)
	fixed.Store(true)
	w.Must(a.DeadLetters.Replay(w.Context(), a.Dead()[0].ID, deadletter.ReplayOptions{}))
	a.AwaitEffects("1")
	a.Publish("1") // the original producer sends once more
	AwaitDuplicates(1, a)
	a.WantOnce("1")
}

func dupProducedTwice(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), counted(&runs)).Start()
	all := IDs(10)
	const copies = 3
	for c := range copies {
		for _, id := range all {
			msg := w.Message(idem.Envelope{
				Key:     fmt.Appendf(nil, "producer %d", c),
				Headers: []idem.Header{{Name: "sent-by", Value: fmt.Append(nil, c)}},
			}, fmt.Appendf(nil, `{"id":%q,"amount":1}`, id))
			msg.UUID = fmt.Sprintf("message-%d-%s", c, id)
			a.Send(msg)
		}
	}
	AwaitDuplicates((copies-1)*len(all), a)
	a.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
}

func dupWhileRetrying(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			run, leave := runs.Enter(m.Payload.ID)
			defer leave()
			if err := a.Effects.Add(ctx, m.Payload.ID); err != nil || run > 2 {
				return err
			}
			return idem.Transient(idem.RetryAfter(errBlip, 300*time.Millisecond))
		}
	}).Start()
	const copies = 4
	for i := range copies { // with keys of their own, so that none waits for its turn
		a.PublishRaw(fmt.Sprint("lane ", i), []byte(`{"id":"1"}`))
	}
	AwaitDuplicates(copies-1, a)
	a.AwaitEffects("1")
	runs.WantRuns(w, 3, "1")
	runs.WantApart(w)
	a.WantNoDead()
}

func dupOfDeadLetter(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), func(*App) idem.HandlerFunc[Event] {
		return func(_ context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return idem.Permanent(errBlip)
		}
	}).Start()
	a.Publish("1", "1", "1")
	AwaitDuplicates(2, a)
	if got := a.AwaitDead(1); len(got) != 1 {
		w.Errorf("%d dead letters, want one", len(got))
	}
	runs.WantRuns(w, 1, "1")
	a.WantOnce()
}

func dupAfterRewind(w *World) {
	var runs Tally
	op := w.Operation("billing")
	all := IDs(20)
	a := w.Consumer(op, counted(&runs)).Start()
	a.Publish(all...)
	a.AwaitEffects(all...)
	w.Must(a.Stop())
	w.Place.Faults.Rewind(w, w.Topic, op.Name)
	b := w.Consumer(op, counted(&runs)).Start()
	AwaitDuplicates(len(all), b)
	b.WantOnce(all...)
	runs.WantRuns(w, 1, all...)
}

func dupRetention(w *World) {
	op := w.Operation("billing")
	op.Retention = 2 * time.Second
	var runs Tally
	a := w.Consumer(op, counted(&runs)).Start()
	for try := range 5 {
		id := fmt.Sprint(try)
		begun, before := time.Now(), a.Count(idem.Duplicate)
		effects := func() int {
			got, err := a.Effects.Count(w.Context())
			w.Must(err)
			return got[id]
		}
		a.Publish(id)
		w.AwaitCount("effect", 1, effects)
		a.Publish(id)
		w.AwaitCount("second delivery", 2, func() int { return runs.Of(id) + a.Count(idem.Duplicate) - before })
		if time.Since(begun) >= op.Retention {
			continue // this machine is too slow to tell
		}
		runs.WantRuns(w, 1, id)
		<-time.After(op.Retention + time.Second) // all of the retention
		a.Publish(id)
		w.AwaitCount("effect after the retention", 2, effects)
		return
	}
	w.Errorf("no duplicate came within the retention")
}

func dupKeyReuse(w *World) {
	a := w.Consumer(w.Operation("billing"), addAmount).Start()
	a.PublishRaw("1", []byte(`{"id":"1","amount":200}`))
	a.AwaitEffects("200")
	a.PublishRaw("1", []byte(`{"id":"1","amount":500}`))
	if got := a.AwaitDead(1); !slices.Equal(got, []string{idem.ReasonKeyReuse}) {
		w.Errorf("dead letters %v, want one of the reused key", got)
	}
	a.PublishRaw("1", []byte(`{"id":"1","amount":200}`)) // still the key's owner
	AwaitDuplicates(1, a)
	a.WantOnce("200")
}

func dupKeyReuseDiscards(w *World) {
	op := w.Operation("billing")
	op.OnKeyReuse = idem.ReuseDiscards
	a := w.Consumer(op, addAmount).Start()
	a.PublishRaw("1", []byte(`{"id":"1","amount":200}`))
	a.AwaitEffects("200")
	a.PublishRaw("1", []byte(`{"id":"1","amount":500}`))
	a.AwaitDead(1)
	if d := a.Dead()[0]; d.Reason != idem.ReasonKeyReuse || d.State != idem.DeadLetterDiscarded {
		w.Errorf("the message is %s because of %s, want an audited discard", d.State, d.Reason)
	}
	a.WantOnce("200")
}

func dupEmits(w *World) {
	const hopeless = "7"
	invoices := w.Topic + ".invoices"
	var runs Tally
	a := w.App()
	billing := w.Operation("billing")
	billing.Emits = []string{invoices}
	w.Must(idem.Register(a.App, billing, idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
		run, leave := runs.Enter(m.Payload.ID)
		defer leave()
		err := errors.Join(a.Effects.Add(ctx, m.Payload.ID),
			idem.Emit(ctx, idem.Event{Topic: invoices, Payload: Event{ID: "5" + m.Payload.ID}}))
		switch {
		case err != nil:
			return err
		case m.Payload.ID == hopeless:
			return idem.Permanent(errBlip)
		case run == 1:
			return errBlip
		}
		return nil
	})))
	mail := w.Operation("mail")
	mail.Topic = invoices
	w.Must(idem.Register(a.App, mail, AddEffect(a)))
	a.Start()
	all := IDs(10)
	for range 2 {
		a.Publish(all...)
	}
	var want []string
	for _, id := range without(all, hopeless) {
		want = append(want, id, "5"+id)
	}
	a.AwaitEffects(want...)
	a.AwaitDead(1)
	AwaitDuplicates(len(all), a)
	published := a.Tap(invoices)
	w.AwaitCount("published events", len(all)-1, func() int { return len(published()) })
	a.WantOnce(want...)
	if n := len(published()); n != len(all)-1 {
		w.Errorf("%d events were published, want %d", n, len(all)-1)
	}
}

// without returns the ids but one.
func without(all []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == id })
}

// inHand hands a message over as a broker would, again and again until it is
// acked.
func inHand(run message.HandlerFunc, body []byte) {
	for {
		msg := message.NewMessage("", body)
		_, _ = run(msg) // what happened is said by ack or nack
		select {
		case <-msg.Acked():
			return
		case <-msg.Nacked():
		}
	}
}
