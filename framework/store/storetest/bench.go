package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

const (
	// tick is the duration of leases, delays and retentions that a case waits for.
	tick = 200 * time.Millisecond
	// long never passes during a case.
	long = time.Hour
	// slack covers clocks that are read at millisecond precision.
	slack = 5 * time.Millisecond
	// patience bounds the wait for something that must happen.
	patience = 20 * time.Second
)

// bench is what a case works on: a migrated store and a second handle.
type bench struct {
	*testing.T
	Options
	ctx   context.Context
	store idem.Store
	other idem.Store
}

func newBench(t *testing.T, s idem.Store, o Options) *bench {
	b := &bench{T: t, Options: o, ctx: context.Background(), store: s, other: s}
	b.ok(s.Migrate(b.ctx))
	if o.Second != nil {
		b.other = o.Second(t, s)
	}
	return b
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// do commits fn's work.
func (b *bench) do(fn func(idem.Tx) error) {
	b.Helper()
	b.ok(b.store.Do(b.ctx, fn))
}

// peek claims and rolls back: it reads a record without changing anything.
func (b *bench) peek(c idem.Claim) (r idem.Record) {
	b.Helper()
	err := b.store.Do(b.ctx, func(tx idem.Tx) (err error) {
		if r, err = tx.Claim(b.ctx, c); err != nil {
			return err
		}
		return errRollback
	})
	if err != errRollback {
		b.Fatalf("claim of %q failed: %v", c.Key, err)
	}
	return r
}

// save claims and saves in one transaction and returns what Claim found.
func (b *bench) save(c idem.Claim, u idem.Update) (r idem.Record) {
	b.Helper()
	b.do(func(tx idem.Tx) (err error) {
		if r, err = tx.Claim(b.ctx, c); err != nil {
			return err
		}
		return tx.Save(b.ctx, c, u)
	})
	return r
}

func (b *bench) wantStatus(c idem.Claim, want idem.Status) {
	b.Helper()
	if got := b.peek(c).Status; got != want {
		b.Fatalf("status of %q is %q, want %q", c.Key, got, want)
	}
}

func (b *bench) wantRows(id string, want int) {
	b.Helper()
	if got := b.Count(b.T, b.store, id); got != want {
		b.Fatalf("business rows of %q: %d, want %d", id, got, want)
	}
}

func (b *bench) emit(out ...idem.Outgoing) {
	b.Helper()
	b.do(func(tx idem.Tx) error { return tx.Emit(b.ctx, out...) })
}

func (b *bench) lease(s idem.Store, n int, d time.Duration) []idem.OutboxRow {
	b.Helper()
	rows, err := s.LeaseOutbox(b.ctx, n, d)
	b.ok(err)
	return rows
}

func (b *bench) wantDepth(want int) {
	b.Helper()
	n, _, err := b.store.OutboxDepth(b.ctx)
	b.ok(err)
	if n != want {
		b.Fatalf("outbox depth is %d, want %d", n, want)
	}
}

// until polls a condition; the suite never waits for a fixed time.
func (b *bench) until(what string, cond func() bool) {
	b.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(tick / 20) {
		if time.Now().After(deadline) {
			b.Fatalf("within %v it did not happen that %s", patience, what)
		}
	}
}

// notBefore polls like until and fails when the condition holds earlier than
// d after start. A stalled machine cannot make it fail.
func (b *bench) notBefore(start time.Time, d time.Duration, what string, cond func() bool) {
	b.Helper()
	b.until(what, cond)
	if took := time.Since(start); took < d-slack {
		b.Fatalf("%s already after %v, want not before %v", what, took, d)
	}
}

func claim(key string) idem.Claim {
	return idem.Claim{Consumer: "shop", Key: key, Fingerprint: "f1", Token: "t1", Retention: long}
}

func ids(rows []idem.OutboxRow) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.ID
	}
	return out
}
