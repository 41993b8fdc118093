package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/idem-go/idem/framework/idem"
)

var errRollback = errors.New("storetest: roll back")

var transactionCases = []testCase{
	{"CommitsTogether", func(b *bench) {
		b.do(func(tx idem.Tx) error { return b.everything(tx, "k") })
		b.wantEverything("k", true)
	}},
	{"RollsBackTogether", func(b *bench) {
		err := b.store.Do(b.ctx, func(tx idem.Tx) error {
			b.ok(b.everything(tx, "k"))
			return errRollback
		})
		if err != errRollback { // identity: the store does not wrap it
			b.Fatalf("Do returned %v, want fn's own error as it is", err)
		}
		b.wantEverything("k", false)
	}},
	{"PanicRollsBack", func(b *bench) {
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					b.Fatalf("recovered %v, want the handler's panic", r)
				}
			}()
			_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
				b.ok(b.everything(tx, "k"))
				panic("boom")
			})
		}()
		b.wantEverything("k", false)
		b.do(func(tx idem.Tx) error { return b.everything(tx, "k") }) // nothing is locked any more
	}},
	{"CancelledBeforeBegin", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		ran := false
		err := b.store.Do(ctx, func(idem.Tx) error { ran = true; return nil })
		if ran || !errors.Is(err, idem.ErrStore) || !errors.Is(err, context.Canceled) {
			b.Fatalf("ran %v, error %v; want not run, ErrStore and context.Canceled", ran, err)
		}
	}},
	{"CancelledMidwayRollsBack", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		err := b.store.Do(ctx, func(tx idem.Tx) error {
			b.ok(b.everything(tx, "k"))
			cancel()
			return nil // a handler that did not notice
		})
		if !errors.Is(err, idem.ErrStore) || !errors.Is(err, context.Canceled) || errors.Is(err, idem.ErrUnknownCommit) {
			b.Fatalf("error %v; want ErrStore and context.Canceled, and the outcome known", err)
		}
		b.wantEverything("k", false)
	}},
	{"CancelledAndFailedReturnsFnsError", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		err := b.store.Do(ctx, func(tx idem.Tx) error {
			b.ok(b.everything(tx, "k"))
			cancel()
			return errRollback
		})
		if err != errRollback {
			b.Fatalf("Do returned %v, want fn's own error as it is", err)
		}
		b.wantEverything("k", false)
	}},
	{"NativeIsStable", func(b *bench) {
		b.do(func(tx idem.Tx) error {
			if tx.Native() == nil || tx.Native() != tx.Native() {
				b.Fatal("Native must return the one native transaction")
			}
			return nil
		})
	}},
}

// everything does one of each kind of write.
func (b *bench) everything(tx idem.Tx, key string) error {
	r, err := tx.Claim(b.ctx, claim(key))
	if err != nil {
		return err
	}
	if r.Status != idem.StatusNew {
		return fmt.Errorf("status %q, want a new key", r.Status)
	}
	stored, err := tx.Park(b.ctx, letter("dl-"+key))
	if err == nil && !stored {
		err = errors.New("dead letter was there before")
	}
	return errors.Join(err,
		b.Effect(b.ctx, tx, key),
		tx.Emit(b.ctx, idem.Outgoing{ID: "out-" + key, Topic: "orders"}),
		tx.Save(b.ctx, claim(key), idem.Update{Status: idem.StatusDone, Attempts: 1}))
}

// wantEverything checks that all writes of everything are there, or none.
func (b *bench) wantEverything(key string, there bool) {
	b.Helper()
	got := map[string]bool{
		"effect": b.Count(b.T, b.store, key) == 1,
		"mark":   b.peek(claim(key)).Status == idem.StatusDone,
	}
	rows := b.lease(b.store, 1000, long)
	got["outbox row"] = slices.Contains(ids(rows), "out-"+key)
	b.ok(b.store.Postponed(b.ctx, 0, rows...))
	_, err := b.store.GetDeadLetter(b.ctx, "dl-"+key)
	if err != nil && !errors.Is(err, idem.ErrNotFound) {
		b.Fatal(err)
	}
	got["dead letter"] = err == nil
	for what, is := range got {
		if is != there {
			b.Errorf("%s of %q is there: %v, want %v", what, key, is, there)
		}
	}
	if b.Failed() {
		b.FailNow()
	}
}
