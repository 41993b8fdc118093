package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var contentionCases = []testCase{
	{"OneEffectOf64Claimants", func(b *bench) {
		var inside, effects atomic.Int32
		var committed atomic.Bool
		b.race(64, func(s idem.Store) error {
			ran := false
			err := s.Do(b.ctx, func(tx idem.Tx) error {
				was := committed.Load()
				r, err := tx.Claim(b.ctx, claim("k"))
				if err != nil {
					return err
				}
				if inside.Add(1) != 1 {
					b.Error("two transactions hold one key at a time")
				}
				defer inside.Add(-1)
				if r.Status != idem.StatusNew && r.Status != idem.StatusPending {
					return nil
				}
				if was {
					b.Error("a key was still free after its winner's commit")
				}
				ran = true
				return b.effectAndMark(tx, "k")
			})
			if err == nil && ran {
				effects.Add(1)
				committed.Store(true)
			}
			return err
		})
		if effects.Load() != 1 {
			b.Errorf("%d claimants believe that they did the effect", effects.Load())
		}
		b.wantRows("k", 1)
	}},
	{"EffectsOfManyKeysAndClaimants", func(b *bench) {
		keys := []string{"a", "b", "c", "d", "e"}
		var n atomic.Int32
		b.race(40, func(s idem.Store) error {
			key := keys[int(n.Add(1))%len(keys)]
			return s.Do(b.ctx, func(tx idem.Tx) error {
				r, err := tx.Claim(b.ctx, claim(key))
				if err != nil || r.Status == idem.StatusDone {
					return err
				}
				if err := b.effectAndMark(tx, key); err != nil || n.Load()%3 != 0 {
					return err
				}
				return idem.ErrInFlight // some winners fail; somebody else must run
			})
		})
		for _, key := range keys {
			b.wantRows(key, 1)
		}
	}},
	{"LoserRunsWhenWinnerRollsBack", func(b *bench) {
		b.behindHolder(false, func(r idem.Record, err error) {
			if err != nil || r.Status != idem.StatusNew {
				b.Errorf("after a roll-back the waiting claim got %q, %v; want a new key", r.Status, err)
			}
		})
	}},
	{"LoserSeesWinnersCommit", func(b *bench) {
		b.behindHolder(true, func(r idem.Record, err error) {
			if err != nil || r.Status != idem.StatusDone {
				b.Errorf("after a commit the waiting claim got %q, %v; want done", r.Status, err)
			}
		})
	}},
	{"InFlightAfterABoundedWait", func(b *bench) {
		if b.Second == nil && b.SingleWriter {
			b.Skip("one handle of a single-writer database queues until the context ends")
		}
		start := time.Now()
		b.do(func(tx idem.Tx) error {
			_, err := tx.Claim(b.ctx, claim("k"))
			b.ok(err)
			err = b.other.Do(b.ctx, func(tx idem.Tx) error { _, err := tx.Claim(b.ctx, claim("k")); return err })
			if !errors.Is(err, idem.ErrInFlight) && !(b.SingleWriter && errors.Is(err, idem.ErrStore)) {
				b.Errorf("claim of a held key returned %v, want ErrInFlight", err)
			}
			return tx.Save(b.ctx, claim("k"), idem.Update{Status: idem.StatusDone})
		})
		if took := time.Since(start); took > patience {
			b.Errorf("waited %v for a held key", took)
		}
		b.wantStatus(claim("k"), idem.StatusDone)
	}},
	{"WaitEndsWithTheContext", func(b *bench) {
		ctx, cancel := context.WithTimeout(b.ctx, tick)
		defer cancel()
		b.do(func(tx idem.Tx) error {
			_, err := tx.Claim(b.ctx, claim("k"))
			b.ok(err)
			err = b.other.Do(ctx, func(tx idem.Tx) error { _, err := tx.Claim(ctx, claim("k")); return err })
			if err == nil {
				b.Error("claimed a held key")
			}
			return nil
		})
	}},
	{"OtherKeysDoNotWait", func(b *bench) {
		if b.SingleWriter {
			b.Skip("a single-writer database runs one transaction at a time")
		}
		b.do(func(tx idem.Tx) error {
			_, err := tx.Claim(b.ctx, claim("k"))
			b.ok(err)
			b.ok(b.other.Do(b.ctx, func(tx idem.Tx) error {
				if _, err := tx.Claim(b.ctx, claim("k2")); err != nil {
					return err
				}
				sameKey := claim("k")
				sameKey.Consumer = "mail"
				_, err := tx.Claim(b.ctx, sameKey)
				return err
			}))
			return nil
		})
	}},
}

// race runs f on n goroutines over both handles at once, each again while
// another attempt is in its way.
func (b *bench) race(n int, f func(idem.Store) error) {
	b.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		s := b.store
		if i%2 == 1 {
			s = b.other
		}
		wg.Go(func() {
			<-start
			if err := b.insist(func() error { return f(s) }); err != nil {
				b.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
}

// insist calls f again while another transaction is in its way.
func (b *bench) insist(f func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := f()
		inTheWay := errors.Is(err, idem.ErrInFlight) || b.SingleWriter && errors.Is(err, idem.ErrStore)
		if !inTheWay || time.Now().After(deadline) {
			return err
		}
	}
}

// behindHolder claims a key on the second handle while the first holds it and
// then ends, and hands the second claim's outcome to check.
func (b *bench) behindHolder(commit bool, check func(idem.Record, error)) {
	b.Helper()
	var wg sync.WaitGroup
	started := make(chan struct{})
	var fail error
	if !commit {
		fail = errRollback
	}
	err := b.store.Do(b.ctx, func(tx idem.Tx) error {
		_, err := tx.Claim(b.ctx, claim("k"))
		b.ok(err)
		wg.Go(func() {
			close(started)
			var r idem.Record
			err := b.other.Do(b.ctx, func(tx idem.Tx) (err error) {
				if r, err = tx.Claim(b.ctx, claim("k")); err != nil || r.Status != idem.StatusNew {
					return err
				}
				return b.effectAndMark(tx, "k")
			})
			check(r, err)
		})
		<-started
		return errors.Join(b.effectAndMark(tx, "k"), fail)
	})
	if !errors.Is(err, fail) {
		b.Error(err)
	}
	wg.Wait()
	b.wantRows("k", 1)
}

// effectAndMark does what a handler and the engine do with a claimed key. It
// may run on any goroutine.
func (b *bench) effectAndMark(tx idem.Tx, key string) error {
	if err := b.Effect(b.ctx, tx, key); err != nil {
		return err
	}
	return tx.Save(b.ctx, claim(key), idem.Update{Status: idem.StatusDone})
}
