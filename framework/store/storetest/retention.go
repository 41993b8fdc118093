package storetest

import (
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

func briefly(key string) idem.Claim {
	c := claim(key)
	c.Retention = tick
	return c
}

var retentionCases = []testCase{
	{"PastRetentionIsAbsent", func(b *bench) {
		start := time.Now()
		b.save(briefly("k"), idem.Update{Status: idem.StatusStarted, Attempts: 4, LastError: "old", Result: []byte("old"), Lease: tick / 2})
		b.notBefore(start, tick, "the key is forgotten", func() bool { return b.peek(briefly("k")).Status == idem.StatusNew })

		// The next use overwrites it: nothing of the old record remains.
		fresh := claim("k")
		fresh.Fingerprint, fresh.Token = "f2", "t2"
		b.do(func(tx idem.Tx) error {
			r, err := tx.Claim(b.ctx, fresh)
			if r.Status != idem.StatusNew || r.Attempts != 0 || r.LastError != "" || len(r.Result) != 0 || !r.FirstFailed.IsZero() {
				b.Errorf("claim of a forgotten key found %+v", r)
			}
			b.ok(err)
			r, err = tx.Claim(b.ctx, fresh)
			b.ok(err)
			if r.Attempts != 0 || r.LastError != "" || len(r.Result) != 0 || r.LeaseLeft != 0 || !r.FirstFailed.IsZero() {
				b.Errorf("record begun anew is %+v", r)
			}
			return tx.Save(b.ctx, fresh, idem.Update{Status: idem.StatusDone, Attempts: 1})
		})
		r := b.peek(fresh)
		if r.Status != idem.StatusDone || r.Fingerprint != "f2" || r.Attempts != 1 || r.LastError != "" || len(r.Result) != 0 || r.FirstSeen.Before(start.Add(tick-slack)) {
			b.Errorf("overwritten record is %+v", r)
		}
	}},
	{"OverwrittenOnceByManyClaimants", func(b *bench) {
		b.save(briefly("k"), idem.Update{Status: idem.StatusDone})
		b.until("the key is forgotten", func() bool { return b.peek(briefly("k")).Status == idem.StatusNew })
		b.race(16, func(s idem.Store) error {
			return s.Do(b.ctx, func(tx idem.Tx) error {
				r, err := tx.Claim(b.ctx, claim("k"))
				if err != nil || r.Status == idem.StatusDone {
					return err
				}
				return b.effectAndMark(tx, "k")
			})
		})
		b.wantRows("k", 1)
	}},
	{"CountsFromTheLastChange", func(b *bench) {
		first := time.Now()
		b.save(briefly("k"), idem.Update{Status: idem.StatusPending})
		b.until("half the retention passes", func() bool { return time.Since(first) > tick/2 })
		second := time.Now()
		b.save(briefly("k"), idem.Update{Status: idem.StatusPending})
		b.notBefore(second, tick, "the key is forgotten", func() bool { return b.peek(briefly("k")).Status == idem.StatusNew })
	}},
	{"SweepRemovesOnlyWhatIsPast", func(b *bench) {
		for i := range 5 {
			b.save(briefly(fmt.Sprint("old", i)), idem.Update{Status: idem.StatusDone})
		}
		for _, s := range []idem.Status{idem.StatusPending, idem.StatusStarted, idem.StatusDone, idem.StatusDead} {
			b.save(claim(string(s)), idem.Update{Status: s, Attempts: 1})
		}
		b.emit(idem.Outgoing{ID: "o", Topic: "orders"})
		b.until("every old key is past its retention", func() bool { return b.peek(briefly("old4")).Status == idem.StatusNew })
		if n, err := b.store.Sweep(b.ctx, 0); n != 0 || err != nil {
			b.Fatalf("Sweep with limit 0 removed %d, %v", n, err)
		}
		for _, want := range []int{2, 2, 1, 0} {
			n, err := b.store.Sweep(b.ctx, 2)
			b.ok(err)
			if n != want {
				b.Fatalf("Sweep with limit 2 removed %d, want %d", n, want)
			}
		}
		for _, s := range []idem.Status{idem.StatusPending, idem.StatusStarted, idem.StatusDone, idem.StatusDead} {
			b.wantStatus(claim(string(s)), s)
		}
		b.wantDepth(1)
	}},
	{"RunningLeaseOutlivesRetention", func(b *bench) {
		// An external call may be under way: forgetting the key would allow a second one.
		b.save(briefly("k"), idem.Update{Status: idem.StatusStarted, Lease: long})
		b.save(briefly("old"), idem.Update{Status: idem.StatusDone})
		b.until("the retention passes", func() bool { return b.peek(briefly("old")).Status == idem.StatusNew })
		_, err := b.store.Sweep(b.ctx, 100)
		b.ok(err)
		b.wantStatus(briefly("k"), idem.StatusStarted)
	}},
	{"SweepFromManyAtOnce", func(b *bench) {
		for i := range 20 {
			b.save(briefly(fmt.Sprint("old", i)), idem.Update{Status: idem.StatusDone})
		}
		b.until("every key is past its retention", func() bool { return b.peek(briefly("old19")).Status == idem.StatusNew })
		b.race(4, func(s idem.Store) error { _, err := s.Sweep(b.ctx, 100); return err })
		n, err := b.store.Sweep(b.ctx, 100)
		b.ok(err)
		if n != 0 {
			b.Fatalf("%d records were left", n)
		}
	}},
}
