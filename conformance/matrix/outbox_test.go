package matrix

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

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
