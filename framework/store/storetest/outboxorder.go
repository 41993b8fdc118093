package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

func keyed(id, key string) idem.Outgoing {
	return idem.Outgoing{ID: id, Topic: "orders", Key: []byte(key)}
}

var outboxOrderCases = []testCase{
	{"YoungerWaitsForLeasedOlder", func(b *bench) {
		b.emit(keyed("1", "k"))
		first := b.lease(b.store, 10, long)
		b.emit(keyed("2", "k"), keyed("x", "other"), keyed("3", "k"))
		sameKeyOtherTopic := keyed("y", "k")
		sameKeyOtherTopic.Topic = "invoices"
		b.emit(sameKeyOtherTopic)
		if got := sorted(b.lease(b.other, 10, long)); !slices.Equal(got, []string{"x", "y"}) {
			b.Fatalf("leased %v while an older row of the key is out; want x and y", got)
		}
		b.ok(b.store.Published(b.ctx, first...))
		b.wantInOrder("2", "3")
	}},
	{"SeveralOfOneKeyComeInOrder", func(b *bench) {
		b.emit(keyed("1", "k"), keyed("2", "k"))
		b.emit(keyed("3", "k"))
		b.wantInOrder("1", "2", "3")
	}},
	{"DelayedOlderHoldsBackYounger", func(b *bench) {
		older := keyed("1", "k")
		older.Delay = tick
		start := time.Now()
		b.emit(older)
		b.emit(keyed("2", "k"), keyed("x", "other"))
		var rows []idem.OutboxRow
		b.notBefore(start, tick, "the delayed key goes on", func() bool {
			rows = b.lease(b.store, 10, long)
			if got := ids(rows); slices.Equal(got, []string{"x"}) {
				return false
			}
			return len(rows) > 0
		})
		if rows[0].ID != "1" {
			b.Fatalf("leased %v, want the oldest of the key first", ids(rows))
		}
	}},
	{"PostponedOlderHoldsBackYounger", func(b *bench) {
		b.emit(keyed("1", "k"), keyed("2", "k"), keyed("3", "k"))
		rows := b.lease(b.store, 10, long)
		start := time.Now()
		b.ok(b.store.Postponed(b.ctx, tick, rows[0]))
		b.ok(b.store.Postponed(b.ctx, 0, rows[1:]...))
		b.emit(keyed("4", "k"))
		b.notBefore(start, tick, "the postponed key goes on", func() bool {
			rows = b.lease(b.other, 10, long)
			return len(rows) > 0
		})
		if rows[0].ID != "1" {
			b.Fatalf("leased %v, want the oldest of the key first", ids(rows))
		}
	}},
	{"LimitTakesTheOldest", func(b *bench) {
		// Due times that do not follow the writing order must not mislead.
		late := keyed("1", "k")
		late.Delay = tick
		b.emit(late)
		b.emit(keyed("2", "k"), keyed("3", "k"))
		for _, want := range []string{"1", "2", "3"} {
			b.until("row "+want+" comes", func() bool {
				rows := b.lease(b.store, 1, long)
				if len(rows) == 0 {
					return false
				}
				if rows[0].ID != want {
					b.Fatalf("leased %v, want %s", ids(rows), want)
				}
				b.ok(b.store.Published(b.ctx, rows...))
				return true
			})
		}
	}},
	{"NoKeyNoOrder", func(b *bench) {
		b.emit(idem.Outgoing{ID: "1", Topic: "orders"}, idem.Outgoing{ID: "2", Topic: "orders"})
		b.lease(b.store, 1, long)
		if got := b.lease(b.other, 10, long); len(got) != 1 {
			b.Fatalf("leased %v; rows without key must not wait for each other", ids(got))
		}
	}},
	{"EmptyKeyIsAKey", func(b *bench) {
		b.emit(keyed("1", ""))
		b.lease(b.store, 1, long)
		b.emit(keyed("2", ""))
		if got := b.lease(b.other, 10, long); len(got) != 0 {
			b.Fatalf("leased %v; an empty key orders like any other", ids(got))
		}
	}},
	{"KeyOfDeadRelayComesWhole", func(b *bench) {
		b.emit(keyed("1", "k"), keyed("2", "k"))
		b.lease(b.store, 10, tick)
		b.emit(keyed("3", "k"))
		var rows []idem.OutboxRow
		b.until("another relay takes over", func() bool {
			rows = b.lease(b.other, 10, long)
			return len(rows) > 0
		})
		if rows[0].ID != "1" {
			b.Fatalf("leased %v, want the oldest first", ids(rows))
		}
	}},
	{"OlderCommitsLaterIsNotSkipped", func(b *bench) {
		if b.SingleWriter {
			b.Skip("a single-writer database commits in writing order")
		}
		for _, key := range [][]byte{nil, []byte("k")} {
			old, young := idem.Outgoing{ID: "old", Topic: "orders", Key: key}, idem.Outgoing{ID: "young", Topic: "orders", Key: key}
			b.do(func(tx idem.Tx) error {
				b.ok(tx.Emit(b.ctx, old))
				b.ok(b.other.Do(b.ctx, func(tx idem.Tx) error { return tx.Emit(b.ctx, young) }))
				rows := b.lease(b.other, 10, long)
				if got := ids(rows); !slices.Equal(got, []string{"young"}) {
					b.Errorf("leased %v while the other transaction is open, want young", got)
				}
				return b.other.Published(b.ctx, rows...)
			})
			rows := b.lease(b.other, 10, long)
			if got := ids(rows); !slices.Equal(got, []string{"old"}) {
				b.Fatalf("leased %v, want old", got)
			}
			b.ok(b.other.Published(b.ctx, rows...))
		}
	}},
	{"OrderWithManyRelays", func(b *bench) {
		const keys, each = 3, 8
		for i := range each {
			for k := range keys {
				b.emit(keyed(fmt.Sprintf("%d/%d", k, i), fmt.Sprint(k)))
			}
		}
		var mu sync.Mutex
		next := map[string]int{}
		total := 0
		publish := func(r idem.OutboxRow) {
			mu.Lock()
			defer mu.Unlock()
			if want := fmt.Sprintf("%s/%d", r.Key, next[string(r.Key)]); r.ID != want {
				b.Errorf("leased %s, want %s", r.ID, want)
			}
			next[string(r.Key)]++
			total++
		}
		finished := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return total >= keys*each
		}
		deadline := time.Now().Add(patience)
		b.race(4, func(s idem.Store) error {
			for try := 0; !finished() && time.Now().Before(deadline); try++ {
				rows, err := s.LeaseOutbox(b.ctx, 4, long)
				if err != nil {
					return err
				}
				keep := len(rows)
				if try%3 == 2 { // give some back
					keep /= 2
				}
				for _, r := range rows[:keep] {
					publish(r)
					if err := b.insist(func() error { return s.Published(b.ctx, r) }); err != nil {
						return err
					}
				}
				if err := b.insist(func() error { return s.Postponed(b.ctx, 0, rows[keep:]...) }); err != nil {
					return err
				}
			}
			return nil
		})
		if total != keys*each {
			b.Errorf("published %d of %d", total, keys*each)
		}
	}},
}

// wantInOrder leases and publishes until all of want came, in that order; a
// store may hand out one of a key at a time or several.
func (b *bench) wantInOrder(want ...string) {
	b.Helper()
	var got []string
	b.until("every row is leased", func() bool {
		rows := b.lease(b.other, 10, long)
		got = append(got, ids(rows)...)
		b.ok(b.other.Published(b.ctx, rows...))
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		b.Fatalf("leased %v, want %v", got, want)
	}
}

func sorted(rows []idem.OutboxRow) []string { return slices.Sorted(slices.Values(ids(rows))) }
