package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var commitCases = []testCase{
	{"CancelledWhileCommittingIsWholeOrNothing", func(b *bench) {
		for i := range 40 {
			key := fmt.Sprint("k", i)
			ctx, cancel := context.WithCancel(b.ctx)
			cancelled := make(chan struct{})
			err := b.store.Do(ctx, func(tx idem.Tx) error {
				b.ok(b.everything(tx, key))
				go func() { // strikes before, during or after COMMIT
					defer close(cancelled)
					for end := time.Now().Add(time.Duration(i) * 20 * time.Microsecond); time.Now().Before(end); {
						time.Sleep(time.Microsecond)
					}
					cancel()
				}()
				return nil
			})
			<-cancelled
			if errors.Is(err, idem.ErrUnknownCommit) {
				b.Fatalf("a cancelled caller must not make the outcome unknown: %v", err)
			}
			b.wantEverything(key, err == nil)
		}
	}},
	{"UnknownOutcomeThatWasApplied", func(b *bench) { b.brokenCommit(true) }},
	{"UnknownOutcomeThatWasNotApplied", func(b *bench) { b.brokenCommit(false) }},
}

func (b *bench) brokenCommit(applied bool) {
	if b.BreakCommit == nil {
		b.Skip("this store has no hook to break a COMMIT")
	}
	b.BreakCommit(b.T, b.store, applied)
	err := b.store.Do(b.ctx, func(tx idem.Tx) error { return b.everything(tx, "k") })
	if !errors.Is(err, idem.ErrUnknownCommit) || !errors.Is(err, idem.ErrStore) {
		b.Fatalf("error %v; want ErrStore and ErrUnknownCommit", err)
	}
	// The engine resolves it by reading back: the token tells whose record it is.
	b.wantEverything("k", applied)
	if got := b.peek(claim("k")).Token; (got == "t1") != applied {
		b.Fatalf("token read back is %q, applied %v", got, applied)
	}
}
