package storetest

import (
	"sync"

	"github.com/idem-go/idem/framework/idem"
)

var setupCases = []testCase{
	{"MigrateTwiceKeepsData", func(b *bench) {
		b.do(func(tx idem.Tx) error { return b.everything(tx, "k") })
		b.ok(b.store.Migrate(b.ctx))
		b.wantEverything("k", true)
	}},
	{"MigrateFromManyAtOnce", func(b *bench) {
		var wg sync.WaitGroup
		for i := range 8 {
			s := b.store
			if i%2 == 1 {
				s = b.other
			}
			wg.Go(func() {
				if err := s.Migrate(b.ctx); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		b.do(func(tx idem.Tx) error { return b.everything(tx, "k") })
		b.wantEverything("k", true)
	}},
	{"Ping", func(b *bench) { b.ok(b.store.Ping(b.ctx)) }},
	{"DatabaseIsTheSameForEveryHandle", func(b *bench) {
		if b.store.Database() == "" || b.store.Database() != b.other.Database() {
			b.Fatalf("Database() is %q and %q for two handles on one database", b.store.Database(), b.other.Database())
		}
	}},
	{"EmptyStore", func(b *bench) {
		n, err := b.store.Sweep(b.ctx, 100)
		b.ok(err)
		if rows := b.lease(b.store, 10, long); n != 0 || len(rows) != 0 {
			b.Fatalf("swept %d, leased %v of an empty store", n, rows)
		}
		depth, oldest, err := b.store.OutboxDepth(b.ctx)
		b.ok(err)
		parked, age, err := b.store.CountDeadLetters(b.ctx)
		b.ok(err)
		if depth != 0 || oldest != 0 || parked != 0 || age != 0 {
			b.Fatalf("empty store reports outbox %d %v, dead letters %d %v", depth, oldest, parked, age)
		}
		b.ok(b.store.Published(b.ctx))
		b.ok(b.store.Postponed(b.ctx, 0))
		b.do(func(tx idem.Tx) error { return tx.Emit(b.ctx) })
	}},
}
