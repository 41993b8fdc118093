package matrix

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
)

// A statement that fails in the database, whether the handler says so or
// not, takes its own message along and no neighbour: none is even run again.
func TestFailingStatementTakesNoNeighbour(t *testing.T) {
	on(t, withSQL, func(t *testing.T, w *world) {
		op := w.operation("billing")
		op.Policy.MaxAttempts = 1
		op.Policy.OnBug = idem.BugDeadLetters
		const told, swallowed = "7", "11"
		var runs tally
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				if err := p.effect(ctx, m.Payload.ID); err != nil {
					return err
				}
				switch m.Payload.ID {
				case told:
					return p.exec(ctx, "INSERT INTO effects VALUES (NULL)")
				case swallowed:
					_ = p.exec(ctx, "INSERT INTO effects VALUES (NULL)")
				}
				return nil
			}
		})
		all := ids(20)
		p.start().publish(all...)
		good := without(all, told)
		want := []string{idem.ReasonPermanent}
		if w.cfg.Store == "postgres" { // there the failure has aborted the transaction
			good = without(good, swallowed)
			want = []string{idem.ReasonBug, idem.ReasonPermanent}
		}
		p.awaitEffects(good...)
		if got := p.awaitDead(len(want)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("dead letters %v, want %v", got, want)
		}
		runs.wantRuns(t, 1, all...)
	})
}

// One of twenty messages takes longer than its lease and then fails, again
// and again: the others take effect, and when it is over nothing comes back.
func TestSlowFailureAmongTwenty(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.cfg.Queue.Lease = 300 * time.Millisecond
		op := w.operation("billing")
		op.Policy.MaxAttempts, op.Policy.Quick = 3, -1
		const slow = "7"
		var runs tally
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				if m.Payload.ID == slow {
					select {
					case <-time.After(2 * w.cfg.Queue.Lease):
						return errBlip
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return p.effect(ctx, m.Payload.ID)
			}
		})
		all := ids(20)
		p.start().publish(all...)
		good := without(all, slow)
		p.awaitEffects(good...)
		if got := p.awaitDead(1); len(got) != 1 || got[0] != idem.ReasonExhausted {
			t.Errorf("dead letters %v, want one of the slow message", got)
		}
		p.await("an empty queue", func() (bool, any) { n, known := p.backlog(op.Name); return n == 0 || !known, n })
		runs.wantRuns(t, 1, good...)
		if w.cfg.Transport == "sqlite" {
			// The handler's transaction keeps its own lease from being extended:
			// when it rolls back, somebody else may get the message meanwhile.
			return
		}
		runs.wantRuns(t, op.Policy.MaxAttempts, slow)
		time.Sleep(2 * w.cfg.Queue.Lease) // what was acknowledged would come back after its lease
		if n := p.count(idem.Duplicate); n > 0 {
			t.Errorf("%d acknowledged messages came again", n)
		}
	})
}

// While the message of one key fails, the others flow, in its partition too;
// what follows it under its key waits.
func TestFailingKeyHoldsOnlyItself(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		op := w.operation("billing")
		op.Concurrency = 4
		op.Policy.MaxAttempts, op.Policy.Quick = 10000, -1
		var mended atomic.Bool
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				if m.Payload.ID == "900" && !mended.Load() {
					return errBlip
				}
				return p.effect(ctx, m.Payload.ID)
			}
		}).start()
		p.publishRaw("poison", []byte(`{"id":"900"}`))
		p.publishRaw("poison", []byte(`{"id":"901"}`))
		all := ids(60)
		p.publish(all...)
		p.awaitEffects(all...)
		mended.Store(true)
		p.awaitEffects(append(all, "900", "901")...)
		p.wantNoDead()
	})
}

// Bytes that are no JSON, in front of and among good messages, block nobody,
// and reach the dead letter and its copy as they came.
func TestUndecodableBytes(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		random := make([]byte, 200<<10)
		for i := range random {
			random[i] = byte(rand.Int())
		}
		random[0] = 0
		payloads := [][]byte{
			nil, {}, {0}, {0xff, 0xfe, 0x00}, []byte(`{"id":`), []byte("\xef\xbb\xbf{}"), []byte(`{"amount":1}`), []byte(`"900"`),
			[]byte(`{"id":"901","amount":"much"}`), []byte("{\"id\":\"\xff\",\"amount\":[]}"), random,
		}
		envelope := idem.Envelope{Key: []byte{0, 0xff, '\''}, Headers: []idem.Header{
			{Name: "b", Value: []byte{0, 0xff}}, {Name: "a", Value: []byte{}}, {Name: "b", Value: []byte("again")},
		}}
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error { return p.effect(ctx, m.Payload.ID) }
		}).start()
		good := ids(3)
		for i, body := range payloads {
			must(t, p.Transport.Publisher().Publish(w.topic, p.message(envelope, body)))
			if i < len(good) {
				p.publish(good[i])
			}
		}
		p.awaitEffects(good...)
		p.awaitDead(len(payloads))
		var got [][]byte
		for _, d := range p.dead() {
			full, err := p.DeadLetters.Get(t.Context(), d.ID)
			must(t, err)
			got = append(got, full.Payload)
			if diff := cmp.Diff(envelope, full.Envelope); diff != "" {
				t.Errorf("envelope (-sent +parked):\n%s", diff)
			}
		}
		sameBytes(t, "dead letters", got, payloads)

		copies := p.tap(w.topic + ".dlq")
		p.awaitCount("copies", len(payloads), func() int { return len(copies()) })
		got = nil
		for _, msg := range copies() {
			got = append(got, msg.Payload)
			d, _ := idem.DeliveryFrom(msg.Context())
			theirs := idem.Envelope{Key: d.Envelope.Key, Headers: slices.DeleteFunc(slices.Clone(d.Envelope.Headers), func(h idem.Header) bool {
				return strings.HasPrefix(h.Name, idem.HeaderPrefix)
			})}
			if diff := cmp.Diff(envelope, theirs); diff != "" {
				t.Errorf("envelope (-sent +copied):\n%s", diff)
			}
		}
		sameBytes(t, "copies", got, payloads)
	})
}

func without(all []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == id })
}

// sameBytes compares payloads in any order; nil is not empty.
func sameBytes(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	for _, w := range want {
		n := 0
		for _, g := range got {
			if bytes.Equal(g, w) && (g == nil) == (w == nil) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: payload of %d bytes (nil %v) is there %d times, want once", what, len(w), w == nil, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d", what, len(got), len(want))
	}
}
