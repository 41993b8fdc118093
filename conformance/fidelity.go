package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

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
		{ID: "FIDELITY-06", Intent: "metadata and id of a plain Watermill message arrive, and nothing is added", Run: fidelityMetadata},
		{ID: "FIDELITY-07", Intent: "a delivery tells topic, group and position, and has the same position when it comes again", Run: fidelityDelivery},
		{ID: "FIDELITY-08", Intent: "what a run does to its payload and headers is seen neither by the next run nor in the dead letter", Run: fidelityIsolation},
		{ID: "FIDELITY-09", Intent: "emitted events have the payload, key and headers that the handler gave them, and tell what caused them", Run: fidelityEmitted},
		{ID: "FIDELITY-10", Intent: "a retry brings back payload, key, headers, id and position of the first delivery", Run: fidelityRetry},
		{ID: "FIDELITY-11", Intent: "a replay brings back payload, key, headers, id and position of the first delivery", Run: fidelityReplay},
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

func fidelityMetadata(w *World) {
	msg := message.NewMessage("id-1", []byte(`{"id":"1"}`))
	msg.Metadata = message.Metadata{"name": "value", "ção": "日本", "empty": "", idem.MetadataKey: "lane"}
	got := received(w, msg)[0]
	if got.UUID != "id-1" || string(got.Payload) != `{"id":"1"}` {
		w.Errorf("message %q arrived with the payload %q", got.UUID, got.Payload)
	}
	d, _ := idem.DeliveryFrom(got.Context())
	want := []idem.Header{{Name: "empty"}, {Name: "name", Value: []byte("value")}, {Name: "ção", Value: []byte("日本")}}
	have := slices.SortedFunc(slices.Values(theirs(got).Headers), func(a, b idem.Header) int { return strings.Compare(a.Name, b.Name) })
	wantEnvelope(w, "the message", idem.Envelope{Key: d.Envelope.Key, Headers: have}, idem.Envelope{Key: []byte("lane"), Headers: want})
	for _, h := range want {
		if v, ok := got.Metadata[h.Name]; !ok || v != string(h.Value) {
			w.Errorf("metadata %q is %q, want %q", h.Name, v, h.Value)
		}
	}
}

func fidelityDelivery(w *World) {
	a := w.App()
	a.Prepare(w.Operation("billing"))
	a.Publish(IDs(5)...)
	sub, err := a.Transport.Subscriber(idem.SubscriberConfig{Group: "readers-" + w.Topic, Concurrency: 1, Ordered: true})
	w.Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, err := sub.Subscribe(ctx, w.Topic)
	w.Must(err)
	defer func() { w.Must(sub.Close()) }()
	defer cancel()
	positions := map[string]string{} // by payload
	again := 0
	for deadline := time.After(w.patience); len(positions) < 5 || again < 5; {
		select {
		case msg := <-in:
			d, ok := idem.DeliveryFrom(msg.Context())
			if !ok || d.Topic != w.Topic || d.Group != "readers-"+w.Topic || d.Position == "" {
				w.Fatalf("the delivery says %+v, want topic, group and position", d)
			}
			id := string(msg.Payload)
			if before, known := positions[id]; !known {
				positions[id] = d.Position
				d.Redeliver(10*time.Millisecond, true)
				msg.Nack()
				continue
			} else if before != d.Position {
				w.Errorf("message %s was at %s and is now at %s", id, before, d.Position)
			}
			if again++; d.Attempt == 1 {
				w.Errorf("message %s says that it comes for the first time", id)
			}
			msg.Ack()
		case <-deadline:
			w.Fatalf("%d messages came, %d of them again; want 5", len(positions), again)
		}
	}
	places := map[string]bool{}
	for _, p := range positions {
		places[p] = true
	}
	if len(places) != len(positions) {
		w.Errorf("messages share positions: %v", positions)
	}
}

func fidelityIsolation(w *World) {
	op := keyInHeader(w)
	op.Policy.MaxAttempts = 2
	payload := []byte("as it was")
	e := idem.Envelope{Key: []byte("k"), Headers: []idem.Header{{Name: "event-id", Value: []byte("1")}, {Name: "mine", Value: []byte("as it was")}}}
	a := w.App()
	w.Must(idem.Register(a.App, op, idem.HandlerFunc[[]byte](func(_ context.Context, m idem.Message[[]byte]) error {
		if v, _ := m.Header("mine"); string(m.Payload) != "as it was" || v != "as it was" || string(m.OrderingKey()) != "k" {
			w.Errorf("attempt %d sees payload %q, header %q and key %q", m.Attempt, m.Payload, v, m.OrderingKey())
		}
		for i := range m.Payload {
			m.Payload[i] = '!'
		}
		for _, h := range m.Headers() {
			clear(h.Value)
		}
		clear(m.OrderingKey())
		return errBlip
	})))
	a.Start()
	a.Send(w.Message(e, payload))
	a.AwaitDead(1)
	d, err := a.DeadLetters.Get(w.Context(), a.Dead()[0].ID)
	w.Must(err)
	if string(d.Payload) != "as it was" {
		w.Errorf("the dead letter has the payload %q", d.Payload)
	}
	wantEnvelope(w, "the dead letter", d.Envelope, e)
}

func fidelityEmitted(w *World) {
	out := w.Topic + ".out"
	op := w.Operation("billing")
	op.Emits = []string{out}
	events := []idem.Event{
		{Payload: []byte{0, 0xff}, Key: []byte{0, 0xff}, Headers: oddHeaders()},
		{Payload: []byte{}, Key: []byte{}},
		{Payload: []byte("with the key of its cause")},
	}
	a := w.Consumer(op, func(*App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, _ idem.Message[Event]) error {
			for i, e := range events {
				e.Topic, e.ID = out, fmt.Sprint("event-", i)
				if err := idem.Emit(ctx, e); err != nil {
					return err
				}
			}
			return nil
		}
	}).Start()
	cause := w.Message(idem.Envelope{Key: []byte("cause"), Headers: []idem.Header{{Name: idem.HeaderCorrelationID, Value: []byte("story")}}}, []byte(`{"id":"1"}`))
	cause.UUID = "cause-1"
	a.Send(cause)
	published := a.Tap(out)
	w.AwaitCount("events", len(events), func() int { return len(published()) })
	for _, msg := range published() {
		var i int
		if _, err := fmt.Sscanf(msg.UUID, "event-%d", &i); err != nil || i >= len(events) {
			w.Fatalf("an event has the id %q", msg.UUID)
		}
		want, got := events[i], theirs(msg)
		if !bytes.Equal(msg.Payload, want.Payload.([]byte)) || msg.Payload == nil {
			w.Errorf("event %d has the payload %q, want %q", i, msg.Payload, want.Payload)
		}
		if want.Key == nil {
			want.Key = []byte("cause")
		}
		got.Headers = slices.DeleteFunc(got.Headers, func(h idem.Header) bool {
			return h.Name == idem.HeaderCorrelationID || h.Name == idem.HeaderCausationID
		})
		wantEnvelope(w, msg.UUID, got, idem.Envelope{Key: want.Key, Headers: want.Headers})
		if msg.Metadata[idem.HeaderCorrelationID] != "story" || msg.Metadata[idem.HeaderCausationID] != "cause-1" {
			w.Errorf("event %d says correlation %q and cause %q", i, msg.Metadata[idem.HeaderCorrelationID], msg.Metadata[idem.HeaderCausationID])
		}
	}
}

func fidelityRetry(w *World) {
	op := keyInHeader(w)
	op.Unordered, op.Policy.Quick = true, -1 // a long delay may then go through the outbox
	var r watcher
	a := w.App()
	w.Must(idem.Register(a.App, op, r.handler(a, func(run int) error {
		if run == 1 {
			return idem.Transient(idem.RetryAfter(errBlip, 1100*time.Millisecond))
		}
		return nil
	})))
	a.Start()
	sent, keys := oddMessages(w), []string(nil)
	for key, msg := range sent {
		a.Send(msg)
		keys = append(keys, key)
	}
	a.AwaitEffects(keys...)
	r.wantSame(w, 2, sent)
}

func fidelityReplay(w *World) {
	var r watcher
	a := w.App()
	w.Must(idem.Register(a.App, keyInHeader(w), r.handler(a, func(run int) error {
		if run == 1 {
			return idem.Permanent(errBlip)
		}
		return nil
	})))
	a.Start()
	sent, keys := oddMessages(w), []string(nil)
	for key, msg := range sent {
		a.Send(msg)
		keys = append(keys, key)
	}
	a.AwaitDead(len(sent))
	for _, d := range a.Dead() {
		w.Must(a.DeadLetters.Replay(w.Context(), d.ID, deadletter.ReplayOptions{}))
	}
	a.AwaitEffects(keys...)
	r.wantSame(w, 2, sent)
}

func oddPayloads() [][]byte {
	random := make([]byte, 300<<10)
	_, _ = rand.Read(random)
	return [][]byte{nil, {}, {0}, {0xff, 0xfe, 0x00, '\n'}, []byte("ção — 日本"), []byte("{ \"id\" :1 }\r\n"), random}
}

func oddHeaders() []idem.Header {
	headers := []idem.Header{
		{Name: "b", Value: []byte{0, 0xff, '\n'}}, {Name: "a", Value: []byte{}}, {Name: "b", Value: []byte("again")},
		{Name: "Content-Type", Value: []byte("application/json")}, {Name: "long", Value: bytes.Repeat([]byte("x"), 8<<10)},
		{Name: "ção", Value: []byte("日本")},
	}
	for i := range 50 {
		headers = append(headers, idem.Header{Name: fmt.Sprint("many-", i%10), Value: fmt.Append(nil, i)})
	}
	return headers
}

func received(w *World, msgs ...*message.Message) []*message.Message {
	w.Helper()
	a := w.App()
	a.Prepare(w.Operation("billing"))
	a.Send(msgs...)
	got := a.Tap(w.Topic)
	w.AwaitCount("messages", len(msgs), func() int { return len(got()) })
	return got()
}

type seen struct {
	id, position, topic string
	payload             []byte
	e                   idem.Envelope
}

type watcher struct {
	mu   sync.Mutex
	runs map[string][]seen // by key
}

func (r *watcher) handler(a *App, fail func(run int) error) idem.HandlerFunc[[]byte] {
	r.runs = map[string][]seen{}
	return func(ctx context.Context, m idem.Message[[]byte]) error {
		r.mu.Lock()
		r.runs[m.Key] = append(r.runs[m.Key], seen{m.ID, m.Position, m.Topic, m.Payload, idem.Envelope{Key: m.OrderingKey(), Headers: m.Headers()}})
		run := len(r.runs[m.Key])
		r.mu.Unlock()
		if err := fail(run); err != nil {
			return err
		}
		return a.Effects.Add(ctx, m.Key)
	}
}

func (r *watcher) wantSame(w *World, runs int, sent map[string]*message.Message) {
	w.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, msg := range sent {
		if len(r.runs[key]) != runs {
			w.Errorf("message %s had %d runs, want %d", key, len(r.runs[key]), runs)
			continue
		}
		first := r.runs[key][0]
		for n, s := range r.runs[key] {
			what := fmt.Sprintf("run %d of message %s", n+1, key)
			if !bytes.Equal(s.payload, msg.Payload) {
				w.Errorf("%s has a payload of %d bytes, want the %d that were sent", what, len(s.payload), len(msg.Payload))
			}
			wantEnvelope(w, what, s.e, idem.EnvelopeOf(msg))
			if s.id != msg.UUID || s.topic != w.Topic || s.position != first.position {
				w.Errorf("%s is message %q of %s@%s, want %q of %s@%s", what, s.id, s.topic, s.position, msg.UUID, w.Topic, first.position)
			}
		}
	}
}

func oddMessages(w *World) map[string]*message.Message {
	sent := map[string]*message.Message{}
	for i, p := range oddPayloads() {
		key := fmt.Sprint("event-", i)
		e := idem.Envelope{Key: []byte{byte(i), 0xff}, Headers: append(oddHeaders(), idem.Header{Name: "event-id", Value: []byte(key)})}
		msg := w.Message(e, p)
		msg.UUID = fmt.Sprint("message-", i)
		sent[key] = msg
	}
	return sent
}

func keyInHeader(w *World) idem.Operation {
	op := w.Operation("billing")
	op.Key = idem.KeyFrom(idem.FromHeader("event-id"))
	return op
}
