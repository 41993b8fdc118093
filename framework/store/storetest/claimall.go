package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/idem-go/idem/framework/idem"
)

var claimAllCases = []testCase{
	{"NewAndKnownKeys", func(b *bench) {
		b.save(claim("b"), idem.Update{Status: idem.StatusDone, Attempts: 1})
		b.save(claim("d"), idem.Update{Status: idem.StatusPending, Attempts: 2, LastError: "no"})
		b.do(func(tx idem.Tx) error {
			rs := b.claimAll(tx, "a", "b", "c", "d", "e\x00", "\xff")
			want := []idem.Status{idem.StatusNew, idem.StatusDone, idem.StatusNew, idem.StatusPending, idem.StatusNew, idem.StatusNew}
			for i, r := range rs {
				if r.Status != want[i] {
					b.Errorf("record %d is %q, want %q", i, r.Status, want[i])
				}
			}
			if rs[3].Attempts != 2 || rs[3].LastError != "no" {
				b.Errorf("the pending record is %+v", rs[3])
			}
			for _, k := range []string{"a", "d", "\xff"} {
				b.ok(tx.Save(b.ctx, claim(k), idem.Update{Status: idem.StatusDone, Attempts: 1}))
			}
			return nil
		})
		for _, k := range []string{"a", "b", "d", "\xff"} {
			b.wantStatus(claim(k), idem.StatusDone)
		}
		for _, k := range []string{"c", "e\x00"} { // not saved: may run
			if s := b.peek(claim(k)).Status; s != idem.StatusNew && s != idem.StatusPending {
				b.Errorf("key %q, claimed and not saved, is %q", k, s)
			}
		}
	}},
	{"None", func(b *bench) {
		b.do(func(tx idem.Tx) error { b.claimAll(tx); return nil })
	}},
	{"AgainInOneTransaction", func(b *bench) {
		b.do(func(tx idem.Tx) error {
			b.claimAll(tx, "a", "b")
			b.ok(tx.Save(b.ctx, claim("a"), idem.Update{Status: idem.StatusDone, Attempts: 1}))
			if rs := b.claimAll(tx, "a", "b", "c"); rs[0].Status != idem.StatusDone || rs[2].Status != idem.StatusNew {
				b.Errorf("claimed again: %+v", rs)
			}
			return nil
		})
	}},
	{"PastItsRetentionIsNew", func(b *bench) {
		old := claim("a")
		old.Retention = tick
		b.save(old, idem.Update{Status: idem.StatusDone, Attempts: 1})
		b.save(claim("b"), idem.Update{Status: idem.StatusDone, Attempts: 1})
		b.until("its retention passes", func() bool { return b.peek(old).Status == idem.StatusNew })
		b.do(func(tx idem.Tx) error {
			if rs := b.claimAll(tx, "a", "b"); rs[0].Status != idem.StatusNew || rs[1].Status != idem.StatusDone {
				b.Errorf("found %q and %q, want a new key and one that is done", rs[0].Status, rs[1].Status)
			}
			return tx.Save(b.ctx, claim("a"), idem.Update{Status: idem.StatusDone, Attempts: 1})
		})
		b.wantStatus(claim("a"), idem.StatusDone)
	}},
	{"RollBackLeavesNothing", func(b *bench) {
		_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
			b.claimAll(tx, "a", "b")
			b.ok(tx.Save(b.ctx, claim("a"), idem.Update{Status: idem.StatusDone, Attempts: 1}))
			return errRollback
		})
		b.wantStatus(claim("a"), idem.StatusNew)
		b.wantStatus(claim("b"), idem.StatusNew)
	}},
	{"OneEffectOfManyThatShareKeys", func(b *bench) {
		keys := make([]string, 20)
		for i := range keys {
			keys[i] = fmt.Sprintf("%02d", i)
		}
		var n atomic.Int32
		b.race(24, func(s idem.Store) error {
			own := keys[int(n.Add(1))%10:][:10] // overlapping windows
			return s.Do(b.ctx, func(tx idem.Tx) error {
				rs, err := tx.ClaimAll(b.ctx, claims(own...))
				if err != nil {
					return err
				}
				for i, r := range rs {
					if r.Status == idem.StatusDone {
						continue
					}
					if err := b.effectAndMark(tx, own[i]); err != nil {
						return err
					}
				}
				if n.Load()%4 == 0 {
					return idem.ErrInFlight // some winners fail; somebody else must run
				}
				return nil
			})
		})
		for _, k := range keys[:19] {
			b.wantRows(k, 1)
		}
	}},
	{"HeldKeyIsInFlight", func(b *bench) {
		held, release := make(chan struct{}), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- b.other.Do(b.ctx, func(tx idem.Tx) error {
				_, err := tx.Claim(b.ctx, claim("b"))
				close(held)
				<-release
				return err
			})
		}()
		<-held
		err := b.store.Do(b.ctx, func(tx idem.Tx) error {
			_, err := tx.ClaimAll(b.ctx, claims("a", "b", "c"))
			return err
		})
		close(release)
		b.ok(<-ended)
		want := idem.ErrInFlight
		if b.SingleWriter {
			want = idem.ErrStore
		}
		if !errors.Is(err, want) {
			b.Errorf("claims of which one is held end with %v, want %v", err, want)
		}
	}},
}

func claims(keys ...string) []idem.Claim {
	cs := make([]idem.Claim, len(keys))
	for i, k := range keys {
		cs[i] = claim(k)
	}
	return cs
}

func (b *bench) claimAll(tx idem.Tx, keys ...string) []idem.Record {
	b.Helper()
	rs, err := tx.ClaimAll(b.ctx, claims(keys...))
	b.ok(err)
	if len(rs) != len(keys) {
		b.Fatalf("%d records of %d claims", len(rs), len(keys))
	}
	return rs
}
