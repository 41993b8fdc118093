package matrix

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// What a handler emits is published once, and only if the effect was
// committed; what comes of it is one effect at the next consumer.
func TestEmittedEventsFollowTheEffect(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const hopeless = "7"
		invoices := w.topic + ".invoices"
		var runs tally
		p := w.app(t)
		billing := w.operation("billing")
		billing.Emits = []string{invoices}
		must(t, idem.Register(p.App, billing, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
			run, leave := runs.enter(m.Payload.ID)
			defer leave()
			err := errors.Join(p.effect(ctx, m.Payload.ID),
				idem.Emit(ctx, idem.Event{Topic: invoices, Payload: event{ID: "5" + m.Payload.ID}}))
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
		mail := w.operation("mail")
		mail.Topic = invoices
		must(t, idem.Register(p.App, mail, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
			return p.effect(ctx, m.Payload.ID)
		})))
		p.start()
		all := ids(20)
		for range 2 {
			p.publish(all...)
		}
		var want []string
		for _, id := range without(all, hopeless) {
			want = append(want, id, "5"+id)
		}
		p.awaitEffects(want...)
		p.awaitDead(1)
		p.awaitCount("duplicates", len(all), func() int { return p.count(idem.Duplicate) })
		published := p.tap(invoices)
		p.awaitCount("published events", len(all)-1, func() int { return len(published()) })
		p.wantOnce(want...)
		if n := len(published()); n != len(all)-1 {
			t.Errorf("%d events were published, want %d", n, len(all)-1)
		}
	})
}

// A transaction that has written to the outbox and stays open neither delays
// nor hides what others write after it, and its own event comes when it commits.
func TestOpenProducerHidesNothing(t *testing.T) {
	on(t, withPostgres, func(t *testing.T, w *world) {
		out := w.topic + ".out"
		op := w.operation("billing")
		op.Emits = []string{out}
		p := w.process(t, op, func(*proc) idem.HandlerFunc[event] {
			return func(context.Context, idem.Message[event]) error { return nil }
		}).start()
		admin := w.admin(t)
		published := p.tap(out)
		count := func(id string) func() int {
			return func() (n int) {
				for _, msg := range published() {
					if msg.UUID == id {
						n++
					}
				}
				return n
			}
		}
		for _, cache := range []int{1, 50} { // numbers that each connection takes at once
			_, err := admin.Exec(t.Context(), fmt.Sprintf(`ALTER TABLE idem_outbox ALTER COLUMN seq SET CACHE %d`, cache))
			must(t, err)
			for _, commits := range []bool{true, false} {
				name := func(s string) string { return fmt.Sprintf("%s, cache %d, commits %v", s, cache, commits) }
				emit := func(id string, then func(idem.Tx) error) error {
					return p.Store.Do(t.Context(), func(tx idem.Tx) error {
						if err := tx.Emit(t.Context(), idem.Outgoing{ID: id, Topic: out, Key: []byte("k")}); err != nil {
							return err
						}
						return then(tx)
					})
				}
				old, young := name("old"), name("young")
				written, end, ended := make(chan error), make(chan struct{}), make(chan error)
				go func() {
					ended <- emit(old, func(tx idem.Tx) error {
						// A claim is answered, so that what was emitted before it is written.
						_, err := tx.Claim(t.Context(), idem.Claim{Consumer: "producer", Key: old, Retention: time.Hour})
						written <- err
						<-end
						if !commits {
							return errBlip
						}
						return err
					})
				}()
				must(t, <-written)
				must(t, emit(young, func(idem.Tx) error { return nil }))
				p.awaitCount("the event of the second transaction", 1, count(young))
				close(end)
				if err := <-ended; commits != (err == nil) {
					t.Fatalf("the first transaction ended with %v", err)
				}
				if commits {
					p.awaitCount("the event of the first transaction", 1, count(old))
				}
			}
		}
		if n := len(published()); n != 6 {
			t.Errorf("%d events were published, want 6", n)
		}
	})
}
