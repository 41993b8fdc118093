package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"reflect"
	"sync"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// fidelityCases are about bytes that have to arrive as they were sent.
func fidelityCases() []Case {
	return []Case{
		{ID: "FIDELITY-01", Intent: "payloads arrive byte for byte: none, empty, binary, large", Run: fidelityPayloads},
		{ID: "FIDELITY-02", Intent: "ordering keys arrive byte for byte: none, empty, binary", Run: fidelityKeys},
		{ID: "FIDELITY-03", Intent: "headers arrive byte for byte and in order: repeated, empty, binary", Run: fidelityHeaders},
		{ID: "FIDELITY-04", Intent: "message id, topic, position and headers are the same in every attempt and after a replay", Run: fidelityOfAttempts},
		{ID: "FIDELITY-05", Intent: "headers that look like ours are the user's: they neither confuse the engine nor get lost", Run: fidelityOfOurNames},
	}
}

func fidelityPayloads(w *World) {
	a := w.App()
	op := w.Operation("billing")
	w.Must(idem.Register(a.App, op, AddEffect(a)))
	a.Prepare(op)
	large := make([]byte, 700<<10)
	_, _ = rand.Read(large)
	large[0] = 0
	payloads := [][]byte{nil, {}, {0}, {0xff, 0xfe, 0x00, '\''}, []byte("\xef\xbb\xbf{}"), large}
	for _, body := range payloads {
		a.PublishRaw("k", body)
	}
	got := a.Tap(w.Topic)
	w.AwaitCount("messages", len(payloads), func() int { return len(got()) })
	var bodies [][]byte
	for _, msg := range got() {
		bodies = append(bodies, msg.Payload)
	}
	sameBytes(w, "payloads", bodies, payloads)
}

func fidelityKeys(w *World) {
	a := w.App()
	op := w.Operation("billing")
	w.Must(idem.Register(a.App, op, AddEffect(a)))
	a.Prepare(op)
	keys := [][]byte{nil, {}, {0}, {0xff, 0xfe, 0x00, '\''}, bytes.Repeat([]byte("k"), 2000)}
	for _, key := range keys {
		a.Send(w.Message(idem.Envelope{Key: key}, []byte("{}")))
	}
	got := a.Tap(w.Topic)
	w.AwaitCount("messages", len(keys), func() int { return len(got()) })
	var found [][]byte
	for _, msg := range got() {
		d, _ := idem.DeliveryFrom(msg.Context())
		found = append(found, d.Envelope.Key)
	}
	sameBytes(w, "ordering keys", found, keys)
}

func fidelityHeaders(w *World) {
	a := w.App()
	op := w.Operation("billing")
	w.Must(idem.Register(a.App, op, AddEffect(a)))
	a.Prepare(op)
	want := idem.Envelope{Key: []byte("k"), Headers: []idem.Header{
		{Name: "b", Value: []byte{0, 0xff}}, {Name: "a", Value: []byte{}}, {Name: "b", Value: []byte("again")},
		{Name: "ação", Value: []byte("é")}, {Name: "long", Value: bytes.Repeat([]byte("v"), 5000)},
	}}
	a.Send(w.Message(want, []byte("{}")))
	got := a.Tap(w.Topic)
	w.AwaitCount("messages", 1, func() int { return len(got()) })
	wantEnvelope(w, "the message", theirs(got()[0]), want)
}

func fidelityOfAttempts(w *World) {
	type seen struct {
		Key, ID, Topic, Position string
		Headers                  []idem.Header
		OrderingKey              []byte
	}
	op := w.Operation("billing")
	op.Policy.MaxAttempts, op.Policy.Quick = 3, -1
	var mu sync.Mutex
	var all []seen
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, seen{m.Key, m.ID, m.Topic, m.Position, m.Headers(), m.OrderingKey()})
			if len(all) <= 3 {
				return errBlip
			}
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	msg := w.Message(idem.Envelope{Key: []byte("k"), Headers: []idem.Header{
		{Name: "b", Value: []byte{0, 0xff}}, {Name: "b", Value: []byte{}}, {Name: "a", Value: []byte("1")},
	}}, []byte(`{"id":"1"}`))
	msg.UUID = "message-1"
	a.Send(msg)
	a.AwaitDead(1)
	w.Must(a.DeadLetters.Replay(w.Context(), a.Dead()[0].ID, deadletter.ReplayOptions{}))
	a.AwaitEffects("1")
	mu.Lock()
	defer mu.Unlock()
	if first := all[0]; first.ID != "message-1" || first.Topic != w.Topic || first.Position == "" || len(first.Headers) != 3 {
		w.Errorf("the first attempt saw message %q of %q at %q with %d headers", first.ID, first.Topic, first.Position, len(first.Headers))
	}
	for n, s := range all[1:] {
		if !reflect.DeepEqual(all[0], s) {
			w.Errorf("attempt %d sees %+v, the first one saw %+v", n+2, s, all[0])
		}
	}
}

func fidelityOfOurNames(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), counted(&runs)).Start()
	all := IDs(6)
	for _, id := range all { // as a bridge does that copies every header
		msg := w.Event(id)
		msg.SetContext(idem.WithEnvelope(w.Context(), idem.Envelope{Key: []byte(id), Headers: []idem.Header{
			{Name: idem.HeaderPrefix + "key", Value: []byte("stolen")}, {Name: idem.HeaderPrefix + "attempts", Value: []byte("99")},
			{Name: idem.HeaderPrefix + "replays", Value: []byte("7")}, {Name: "mine", Value: []byte(id)},
		}}))
		a.Send(msg)
	}
	a.AwaitEffects(all...)
	runs.WantRuns(w, 1, all...)
	a.WantNoDead()
}
