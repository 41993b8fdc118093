package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// dlqCases are about messages that are given up.
func dlqCases() []Case {
	return []Case{
		{ID: "DLQ-01", Intent: "poison at the head of the topic holds nobody up", Run: dlqAtTheHead},
		{ID: "DLQ-02", Intent: "poison in the middle, many times, costs no good message a run", Run: dlqInTheMiddle},
		{ID: "DLQ-03", Intent: "bytes that nothing can decode, before and among good messages, are parked and copied as they came", Run: dlqUndecodable},
		{ID: "DLQ-04", Intent: "messages with an empty, a blank or no key are parked one by one, never taken for the same", Run: dlqMissingKey},
		{ID: "DLQ-05", Intent: "while a dead letter cannot be stored its source stays unacked, and the handler is not run again", Run: dlqStoreRefuses},
		{ID: "DLQ-06", Intent: "storing a dead letter that hangs ends in time and is tried again; others go on", Run: dlqStoreHangs},
		{ID: "DLQ-07", Intent: "a dead letter whose commit has no answer is one dead letter and one copy", Run: dlqStoreAmbiguous},
		{ID: "DLQ-08", Intent: "a dead-letter topic that refuses delays the copy, and nothing else", Run: dlqCopyRefused},
		{ID: "DLQ-09", Intent: "a dead-letter topic whose answer is lost may have the copy twice, with the same id", Run: dlqCopyAmbiguous},
		{ID: "DLQ-10", Intent: "a dead-letter topic that hangs holds neither the source nor other messages", Run: dlqCopyHangs},
		{ID: "DLQ-11", Intent: "a replay that fails again is parked again, and the next one takes effect", Run: dlqReplayFails},
		{ID: "DLQ-12", Intent: "our headers do not grow with failures and replays, whatever the error says", Run: dlqHeadersDoNotGrow},
		{ID: "DLQ-13", Intent: "what a handler ignores is discarded with audit, not parked", Run: dlqDiscard},
		{ID: "DLQ-14", Intent: "a panic and a Goexit are bugs with attempts, then dead letters; others go on", Run: dlqPanic},
		{ID: "DLQ-15", Intent: "a dead letter tells where its message came from, whose it was and why it was given up", Run: dlqFacts},
		{ID: "DLQ-16", Intent: "a statement that the database refuses, told or swallowed, takes no neighbour along", Needs: []Need{NeedRefuse}, Run: dlqRefusedStatement},
	}
}

// refusing handles all events but some.
func refusing(runs *Tally, poison ...string) func(a *App) idem.HandlerFunc[Event] {
	return func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			err := a.Effects.Add(ctx, m.Payload.ID)
			if slices.Contains(poison, m.Payload.ID) {
				return idem.Permanent(errors.Join(err, errBlip))
			}
			return err
		}
	}
}

func dlqAtTheHead(w *World) {
	var runs Tally
	op := w.Operation("billing")
	a := w.Consumer(op, refusing(&runs, "0"))
	a.Prepare(op)
	all := IDs(20)
	a.Publish(all...)
	a.Start()
	a.AwaitEffects(all[1:]...)
	a.AwaitDead(1)
	a.AwaitDrained(op)
	runs.WantRuns(w, 1, all...)
}

func dlqInTheMiddle(w *World) {
	var runs Tally
	op := w.Operation("billing")
	all := IDs(30)
	var poison, good []string
	for i, id := range all {
		if i%3 == 1 {
			poison = append(poison, id)
		} else {
			good = append(good, id)
		}
	}
	a := w.Consumer(op, refusing(&runs, poison...)).Start()
	a.Publish(all...)
	a.AwaitEffects(good...)
	if got := a.AwaitDead(len(poison)); len(got) != len(poison) {
		w.Errorf("%d dead letters, want %d", len(got), len(poison))
	}
	a.AwaitDrained(op)
	runs.WantRuns(w, 1, all...)
}

func dlqUndecodable(w *World) {
	random := make([]byte, 200<<10)
	for i := range random {
		random[i] = byte(rand.Int())
	}
	random[0] = 0
	payloads := [][]byte{
		nil, {}, {0}, {0xff, 0xfe, 0x00}, []byte(`{"id":`), []byte("\xef\xbb\xbf{}"), []byte(`{"amount":1}`), []byte(`"900"`),
		[]byte(`{"id":"901","amount":"much"}`), []byte("{\"id\":\"\xff\",\"amount\":[]}"), random,
	}
	e := idem.Envelope{Key: []byte{0, 0xff, '\''}, Headers: []idem.Header{
		{Name: "b", Value: []byte{0, 0xff}}, {Name: "a", Value: []byte{}}, {Name: "b", Value: []byte("again")},
	}}
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	good := IDs(3)
	for i, body := range payloads {
		a.Send(w.Message(e, body))
		if i < len(good) {
			a.Publish(good[i])
		}
	}
	a.AwaitEffects(good...)
	a.AwaitDead(len(payloads))
	var got [][]byte
	for _, d := range a.Dead() {
		full, err := a.DeadLetters.Get(w.Context(), d.ID)
		w.Must(err)
		got = append(got, full.Payload)
		wantEnvelope(w, "a dead letter", full.Envelope, e)
	}
	sameBytes(w, "dead letters", got, payloads)

	copies := a.Tap(w.Topic + ".dlq")
	w.AwaitCount("copies", len(payloads), func() int { return len(copies()) })
	got = nil
	for _, msg := range copies() {
		got = append(got, msg.Payload)
		wantEnvelope(w, "a copy", theirs(msg), e)
	}
	sameBytes(w, "copies", got, payloads)
}

func dlqMissingKey(w *World) {
	op := w.Operation("billing")
	op.Key = idem.KeyFrom(idem.FromHeader("event-id"))
	a := w.Consumer(op, AddEffect).Start()
	body := []byte(`{"id":"1","amount":1}`)
	const each = 2
	for _, headers := range [][]idem.Header{nil, {{Name: "event-id"}}, {{Name: "event-id", Value: []byte("  ")}}} {
		for range each {
			a.Send(w.Message(idem.Envelope{Headers: headers}, body))
		}
	}
	a.Send(w.Message(idem.Envelope{Headers: []idem.Header{{Name: "event-id", Value: []byte("e-1")}}}, body))
	a.AwaitEffects("1")
	if got := a.AwaitDead(3 * each); !slices.Equal(got, slices.Repeat([]string{idem.ReasonMissingKey}, 3*each)) {
		w.Errorf("dead letters %v, want %d of missing keys", got, 3*each)
	}
	for _, d := range a.Dead() {
		if d.Key != "" {
			w.Errorf("a message without a key is stored under the key %q", d.Key)
		}
	}
}

// whenParked makes a fault of what happens when a dead letter is stored.
func (w *World) whenParked(next func() fault) {
	w.faulty(func(u *unit) fault {
		if !u.parked {
			return noFault
		}
		return next()
	})
}

func dlqStoreRefuses(w *World) {
	op := w.Operation("billing")
	tried, looked := make(chan struct{}, 10), make(chan struct{})
	next := first(3, refused)
	w.whenParked(func() fault {
		f := next()
		if f == refused {
			tried <- struct{}{}
		}
		if len(tried) == 3 { // between its transactions, the message is still ours
			<-looked
		}
		return f
	})
	var runs Tally
	a := w.Consumer(op, refusing(&runs, "0")).Start()
	a.Publish("0")
	w.AwaitCount("tries", 2, func() int { return len(tried) })
	if n, known := a.Backlog(op.Name); known && n != 1 {
		w.Errorf("%d messages are left while the dead letter is not stored, want 1", n)
	}
	close(looked)
	if got := a.AwaitDead(1); len(got) != 1 {
		w.Errorf("%d dead letters, want one", len(got))
	}
	a.AwaitDrained(op)
	runs.WantRuns(w, 1, "0")
	a.WantOnce()
}

func dlqStoreHangs(w *World) {
	w.whenParked(first(1, hangs))
	var runs Tally
	a := w.Consumer(w.Operation("billing"), refusing(&runs, "7")).Start()
	all := IDs(12)
	a.Publish(all...)
	a.AwaitEffects(without(all, "7")...)
	if n := len(a.Dead()); n > 0 {
		w.Note("the others were not done before the dead letter")
	}
	if got := a.AwaitDead(1); len(got) != 1 {
		w.Errorf("%d dead letters, want one", len(got))
	}
	runs.WantRuns(w, 1, all...)
}

func dlqStoreAmbiguous(w *World) {
	for _, f := range []fault{lostReply, lostCommit} {
		id := fmt.Sprint(f)
		w.whenParked(first(1, f))
		var runs Tally
		op := w.Operation("billing" + id)
		op.DeadLetterTopic = w.Topic + ".dlq" + id
		op.Topic = w.Topic + id
		a := w.Consumer(op, refusing(&runs, id)).Start()
		w.Must(a.Transport.Publisher().Publish(op.Topic, w.Event(id)))
		w.Await("dead letter", func() (bool, any) {
			n, err := a.DeadLetters.Count(w.Context(), idem.DeadLetterQuery{Consumer: op.Name})
			return n == 1, errors.Join(err, fmt.Errorf("%d", n))
		})
		copies := a.Tap(op.DeadLetterTopic)
		w.AwaitCount("copies", 1, func() int { return len(copies()) })
		w.AwaitCount("the end of the message", 1, func() int { return a.Count(idem.Dead) + a.Count(idem.Duplicate) })
		if n, err := a.DeadLetters.Count(w.Context(), idem.DeadLetterQuery{Consumer: op.Name}); n != 1 || len(copies()) != 1 || err != nil {
			w.Errorf("%d dead letters and %d copies, want one each (%v)", n, len(copies()), err)
		}
		runs.WantRuns(w, 1, id)
		w.Must(a.Stop())
	}
}

// copiesTo makes faults of what is published to the dead-letter topic.
func (w *World) copiesTo(next func() fault) (mend func()) {
	return w.faultyPublish(func(topic string, _ []*message.Message) fault {
		if topic != w.Topic+".dlq" {
			return noFault
		}
		return next()
	})
}

func dlqCopyRefused(w *World) { dlqCopy(w, first(3, refused)) }

func dlqCopyAmbiguous(w *World) { dlqCopy(w, first(1, lostReply)) }

func dlqCopy(w *World, next func() fault) {
	w.copiesTo(next)
	op := w.Operation("billing")
	var runs Tally
	a := w.Consumer(op, refusing(&runs, "0")).Start()
	all := IDs(5)
	a.Publish(all...)
	a.AwaitEffects(all[1:]...)
	a.AwaitDead(1)
	a.AwaitDrained(op)
	copies := a.Tap(w.Topic + ".dlq")
	w.AwaitCount("copies", 1, func() int { return len(copies()) })
	w.Await("an empty outbox", func() (bool, any) {
		n, _, err := a.Store.OutboxDepth(w.Context())
		return n == 0 && err == nil, n
	})
	for _, msg := range copies() {
		if msg.UUID != copies()[0].UUID {
			w.Errorf("copies have the ids %q and %q, want one id", copies()[0].UUID, msg.UUID)
		}
	}
	w.Note("%d copies", len(copies()))
	runs.WantRuns(w, 1, all...)
}

func dlqCopyHangs(w *World) {
	mend := w.copiesTo(first(1, hangs))
	defer mend()
	op := w.Operation("billing")
	var runs Tally
	a := w.Consumer(op, refusing(&runs, "0")).Start()
	all := IDs(5)
	a.Publish(all...)
	a.AwaitEffects(all[1:]...)
	a.AwaitDead(1)
	a.AwaitDrained(op)
	mend()
	copies := a.Tap(w.Topic + ".dlq")
	w.AwaitCount("copies", 1, func() int { return len(copies()) })
	runs.WantRuns(w, 1, all...)
}

func dlqReplayFails(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), failing(&runs, 2, idem.Permanent(errBlip))).Start()
	a.Publish("1")
	for n := range 2 {
		var parked []idem.DeadLetter
		w.Await("dead letter", func() (bool, any) {
			var err error
			parked, err = a.DeadLetters.List(w.Context(), idem.DeadLetterQuery{State: idem.DeadLetterParked})
			return err == nil && len(parked) == 1, err
		})
		if parked[0].Replays != n {
			w.Errorf("the dead letter says that it was replayed %d times, want %d", parked[0].Replays, n)
		}
		w.Must(a.DeadLetters.Replay(w.Context(), parked[0].ID, deadletter.ReplayOptions{}))
	}
	a.AwaitEffects("1")
	runs.WantRuns(w, 3, "1")
}

func dlqHeadersDoNotGrow(w *World) {
	a := w.Consumer(w.Operation("billing"), func(*App) idem.HandlerFunc[Event] {
		return func(context.Context, idem.Message[Event]) error {
			return idem.Permanent(errors.New(strings.Repeat("much ", 20_000)))
		}
	}).Start()
	const replays = 5
	body := []byte(`{"id":"1"}`)
	e := idem.Envelope{Key: []byte("k"), Headers: []idem.Header{{Name: "mine", Value: []byte("1")}, {Name: "mine", Value: []byte("2")}}}
	msg := w.Message(e, body)
	msg.UUID = "id-1"
	a.Send(msg)
	for i := range replays {
		a.AwaitDead(i + 1)
		parked, err := a.DeadLetters.List(w.Context(), idem.DeadLetterQuery{State: idem.DeadLetterParked})
		w.Must(err)
		if len(parked) != 1 {
			w.Fatalf("%d letters are parked after %d replays, want 1", len(parked), i)
		}
		w.Must(a.DeadLetters.Replay(w.Context(), parked[0].ID, deadletter.ReplayOptions{}))
	}
	copies := a.Tap(w.Topic + ".dlq")
	w.AwaitCount("copies", replays+1, func() int { return len(copies()) })
	var sizes []int // of our headers, in the copies that came of a replay
	for _, msg := range copies() {
		wantEnvelope(w, "a copy", theirs(msg), e)
		if !bytes.Equal(msg.Payload, body) {
			w.Errorf("a copy has the payload %q", msg.Payload)
		}
		own := 0
		d, _ := idem.DeliveryFrom(msg.Context())
		for _, h := range d.Envelope.Headers {
			if strings.HasPrefix(h.Name, idem.HeaderPrefix) {
				own += len(h.Name) + len(h.Value)
			}
		}
		if msg.Metadata[idem.HeaderPrefix+"replays"] != "" {
			sizes = append(sizes, own)
		}
	}
	const endOfTime = 10 // zeros that a time is written without
	if most := slices.Max(sizes); len(sizes) != replays || most > 4096 || most-slices.Min(sizes) > endOfTime {
		w.Errorf("our headers take %v bytes in the copies of %d replays", sizes, replays)
	}
	w.Note("our headers take %v bytes", sizes)
}

func dlqDiscard(w *World) {
	a := w.Consumer(w.Operation("billing"), func(*App) idem.HandlerFunc[Event] {
		return func(context.Context, idem.Message[Event]) error { return idem.Ignore(errBlip) }
	}).Start()
	a.Publish("1", "1")
	a.AwaitDead(1)
	AwaitDuplicates(1, a)
	if d := a.Dead(); len(d) != 1 || d[0].State != idem.DeadLetterDiscarded || d[0].Reason != idem.ReasonIgnored {
		w.Errorf("the message ended as %+v, want one discard", d)
	}
	a.WantOnce()
}

func dlqPanic(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts, op.Policy.OnBug = 3, idem.BugDeadLetters
	var runs Tally
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			err := a.Effects.Add(ctx, m.Payload.ID)
			switch m.Payload.ID {
			case "3":
				panic("of a handler")
			case "5":
				runtime.Goexit()
			}
			return err
		}
	}).Start()
	all := IDs(10)
	a.Publish(all...)
	good := without(without(all, "3"), "5")
	a.AwaitEffects(good...)
	if got := a.AwaitDead(2); !slices.Equal(got, []string{idem.ReasonBug, idem.ReasonBug}) {
		w.Errorf("dead letters %v, want two bugs", got)
	}
	runs.WantRuns(w, 1, good...)
	runs.WantRuns(w, 3, "3", "5")
	a.WantOnce(good...)
}

func dlqFacts(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 2
	var at atomic.Value // the position that the handler saw
	a := w.Consumer(op, func(*App) idem.HandlerFunc[Event] {
		return func(_ context.Context, m idem.Message[Event]) error {
			at.Store(m.Position)
			return errors.New("told by the handler")
		}
	}).Start()
	msg := w.Event("1")
	msg.UUID = "message-1"
	msg.SetContext(idem.WithEnvelope(w.Context(), idem.Envelope{Headers: []idem.Header{{Name: idem.HeaderCorrelationID, Value: []byte("story")}}}))
	a.Send(msg)
	a.AwaitDead(1)
	d := a.Dead()[0]
	got := fmt.Sprint(d.Consumer, d.Key, d.Topic, d.Position, d.MessageID, d.CorrelationID, d.Attempts, d.Reason, d.Class, d.State)
	want := fmt.Sprint(op.Name, "1", w.Topic, at.Load(), "message-1", "story", 2, idem.ReasonExhausted, idem.ClassTransient, idem.DeadLetterParked)
	if got != want {
		w.Errorf("the dead letter says\n%s, want\n%s", got, want)
	}
	if !strings.Contains(d.Error, "told by the handler") || d.FirstFailed.IsZero() || d.LastFailed.Before(d.FirstFailed) {
		w.Errorf("the error is %q, first at %v, last at %v", d.Error, d.FirstFailed, d.LastFailed)
	}
}

func dlqRefusedStatement(w *World) {
	op := w.Operation("billing")
	op.Policy.MaxAttempts = 1
	op.Policy.OnBug = idem.BugDeadLetters
	const told, swallowed = "7", "11"
	var runs Tally
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			_, leave := runs.Enter(m.Payload.ID)
			defer leave()
			if err := a.Effects.Add(ctx, m.Payload.ID); err != nil {
				return err
			}
			switch m.Payload.ID {
			case told:
				return a.Effects.Refuse(ctx)
			case swallowed:
				_ = a.Effects.Refuse(ctx)
			}
			return nil
		}
	})
	all := IDs(20)
	a.Start().Publish(all...)
	good := without(all, told)
	want := []string{idem.ReasonPermanent}
	if a.Effects.RefusalAborts {
		good = without(good, swallowed)
		want = []string{idem.ReasonBug, idem.ReasonPermanent}
	}
	a.AwaitEffects(good...)
	if got := a.AwaitDead(len(want)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		w.Errorf("dead letters %v, want %v", got, want)
	}
	runs.WantRuns(w, 1, all...)
}
