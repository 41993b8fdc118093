package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// Two consumers of one topic in one application: a key that one of them has
// processed is new to the other.
func TestKeysBelongToTheirConsumer(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		var runs tally
		p := w.app(t)
		for name, prefix := range map[string]string{"billing": "1", "mail": "2"} {
			must(t, idem.Register(p.App, w.operation(name), idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
				id := prefix + m.Payload.ID
				run, leave := runs.enter(id)
				defer leave()
				if err := p.effect(ctx, id); err != nil || run > 1 {
					return err
				}
				return errBlip
			})))
		}
		p.start()
		all := ids(20)
		for range 3 {
			p.publish(all...)
		}
		var both []string
		for _, id := range all {
			both = append(both, "1"+id, "2"+id)
		}
		p.awaitCount("duplicates", 2*len(both), func() int { return p.count(idem.Duplicate) })
		p.awaitEffects(both...)
		runs.wantRuns(t, 2, both...)
	})
}

// A key that comes again with other content, even while the first message is
// being processed, is neither run nor taken for a duplicate.
func TestKeyReuseWhileTheFirstRuns(t *testing.T) {
	on(t, withSQL, func(t *testing.T, w *world) {
		w.cfg.Postgres.ClaimWait = 100 * time.Millisecond
		var runs tally
		entered, release := make(chan int64, 10), make(chan struct{})
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				entered <- m.Payload.Amount
				<-release
				return p.effect(ctx, fmt.Sprint(m.Payload.Amount))
			}
		}).start()
		bodies := map[int64]string{200: `{"id":"9","amount":200}`, 500: `{"id":"9","amount":500}`}
		must(t, p.Transport.Publisher().Publish(w.topic,
			p.message(idem.Envelope{Key: []byte("a")}, []byte(bodies[200])),
			p.message(idem.Envelope{Key: []byte("b")}, []byte(bodies[500]))))
		first := <-entered
		if w.cfg.Store == "postgres" {
			p.awaitCount("the other one's claim", 1, func() int { return p.count(idem.Unavailable) })
		} else {
			time.Sleep(100 * time.Millisecond) // the other one waits for the writer, which nobody can see
		}
		close(release)
		p.awaitEffects(fmt.Sprint(first))
		if got := p.awaitDead(1); len(got) != 1 || got[0] != idem.ReasonKeyReuse {
			t.Fatalf("dead letters %v, want one for the reused key", got)
		}
		parked, err := p.DeadLetters.Get(t.Context(), p.dead()[0].ID)
		must(t, err)
		if want := bodies[700-first]; string(parked.Payload) != want {
			t.Errorf("parked %s, want %s", parked.Payload, want)
		}
		p.publishRaw("a", []byte(bodies[first])) // still the owner of the key
		p.awaitCount("duplicate", 1, func() int { return p.count(idem.Duplicate) })
		p.wantOnce(fmt.Sprint(first))
		runs.wantRuns(t, 1, "9")
	})
}

// A duplicate within the retention is ignored; after it the key is new.
func TestRetention(t *testing.T) {
	on(t, []string{"memory", "sqlite", "postgres"}, func(t *testing.T, w *world) {
		op := w.operation("billing")
		op.Retention = 2 * time.Second
		var runs tally
		p := w.process(t, op, func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error {
				_, leave := runs.enter(m.Payload.ID)
				defer leave()
				return p.effect(ctx, m.Payload.ID)
			}
		}).start()
		effects := func(id string) func() int {
			return func() int {
				got, err := p.effects(t.Context())
				must(t, err)
				return got[id]
			}
		}
		for try := range 5 {
			id := fmt.Sprint(try)
			begun, before := time.Now(), p.count(idem.Duplicate)
			p.publish(id)
			p.awaitCount("effect", 1, effects(id))
			p.publish(id)
			p.awaitCount("second delivery", 2, func() int { return runs.of(id) + p.count(idem.Duplicate) - before })
			if time.Since(begun) >= op.Retention {
				continue // this machine is too slow to tell
			}
			runs.wantRuns(t, 1, id)
			time.Sleep(time.Until(begun.Add(op.Retention + time.Second))) // all of the retention
			p.publish(id)
			p.awaitCount("effect after the retention", 2, effects(id))
			return
		}
		t.Error("no duplicate came within the retention")
	})
}

// A message that fails with a huge error and is replayed, again and again,
// carries headers of the same size each time.
func TestHeadersDoNotGrowOverReplays(t *testing.T) {
	on(t, withPostgres, func(t *testing.T, w *world) {
		p := w.process(t, w.operation("billing"), func(*proc) idem.HandlerFunc[event] {
			return func(context.Context, idem.Message[event]) error {
				return idem.Permanent(fmt.Errorf("%s", strings.Repeat("much ", 20_000)))
			}
		}).start()
		const replays = 9
		body := []byte(`{"id":"1"}`)
		mine := []idem.Header{{Name: "mine", Value: []byte("1")}, {Name: "mine", Value: []byte("2")}}
		msg := p.message(idem.Envelope{Key: []byte("k"), Headers: mine}, body)
		msg.UUID = "id-1"
		must(t, p.Transport.Publisher().Publish(w.topic, msg))
		for i := range replays {
			p.awaitDead(i + 1)
			parked, err := p.DeadLetters.List(t.Context(), idem.DeadLetterQuery{State: idem.DeadLetterParked})
			must(t, err)
			if len(parked) != 1 {
				t.Fatalf("%d letters are parked after %d replays, want 1", len(parked), i)
			}
			must(t, p.DeadLetters.Replay(t.Context(), parked[0].ID, deadletter.ReplayOptions{}))
		}
		copies := p.tap(w.topic + ".dlq")
		p.awaitCount("copies", replays+1, func() int { return len(copies()) })
		var sizes []int // of our headers, in the copies that came of a replay
		for _, msg := range copies() {
			d, _ := idem.DeliveryFrom(msg.Context())
			own, theirs := 0, 0
			for _, h := range d.Envelope.Headers {
				if strings.HasPrefix(h.Name, idem.HeaderPrefix) {
					own += len(h.Name) + len(h.Value)
				} else {
					theirs++
				}
			}
			if theirs != len(mine) || string(msg.Payload) != string(body) || string(d.Envelope.Key) != "k" {
				t.Errorf("copy %q of key %q has %d of the user's headers, want 2", msg.Payload, d.Envelope.Key, theirs)
			}
			if msg.Metadata[idem.HeaderPrefix+"replays"] != "" {
				sizes = append(sizes, own)
			}
		}
		const endOfTime = 10 // zeros that a time is written without
		if most := slices.Max(sizes); len(sizes) != replays || most > 4096 || most-slices.Min(sizes) > endOfTime {
			t.Errorf("our headers take %v bytes in the copies of %d replays", sizes, replays)
		}
	})
}
