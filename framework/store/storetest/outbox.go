package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var outboxCases = []testCase{
	{"RoundTrip", func(b *bench) {
		out := []idem.Outgoing{
			{ID: "bin", Topic: "orders", Key: []byte{0, 255}, Payload: []byte{0, 1, 255}, Headers: []idem.Header{
				{Name: "a", Value: []byte{0, 255, 128}}, {Name: "b", Value: []byte("x")}, {Name: "a", Value: []byte("again")}, {Name: "ü", Value: []byte{}},
			}},
			{ID: "nil", Topic: "orders"},
			{ID: "empty", Topic: "orders", Key: []byte{}, Payload: []byte{}},
		}
		b.emit(out...)
		rows := b.lease(b.store, 10, long)
		if len(rows) != len(out) {
			b.Fatalf("leased %v", ids(rows))
		}
		for i, r := range rows {
			want := out[i]
			if r.ID != want.ID || r.Topic != want.Topic || !same(r.Key, want.Key) || !same(r.Payload, want.Payload) || r.Attempts != 0 || r.Lease == "" {
				b.Errorf("row %q came back as %+v", want.ID, r)
			}
			if !sameHeaders(r.Headers, want.Headers) {
				b.Errorf("headers of %q came back as %q", want.ID, r.Headers)
			}
		}
	}},
	{"ExistingIDIsLeftAsItIs", func(b *bench) {
		b.emit(idem.Outgoing{ID: "o", Topic: "orders", Payload: []byte("first")})
		b.emit(idem.Outgoing{ID: "o", Topic: "orders", Payload: []byte("second")}, idem.Outgoing{ID: "p", Topic: "orders"}, idem.Outgoing{ID: "p", Topic: "orders"})
		b.emit(idem.Outgoing{ID: "o", Topic: "other"}) // an id is told apart within its topic
		rows := b.lease(b.store, 10, long)
		if got := ids(rows); !slices.Equal(got, []string{"o", "p", "o"}) || string(rows[0].Payload) != "first" {
			b.Fatalf("leased %v", rows)
		}
	}},
	{"PublishedIsRemoved", func(b *bench) {
		b.emit(idem.Outgoing{ID: "a", Topic: "orders"}, idem.Outgoing{ID: "b", Topic: "orders"})
		rows := b.lease(b.store, 1, long)
		b.ok(b.store.Published(b.ctx, rows...))
		b.wantDepth(1)
		if got := ids(b.lease(b.other, 10, long)); !slices.Equal(got, []string{"b"}) {
			b.Fatalf("leased %v, want the row that was not published", got)
		}
	}},
	{"LeasedOnce", func(b *bench) {
		for i := range 50 {
			b.emit(idem.Outgoing{ID: fmt.Sprint("o", i), Topic: "orders"})
		}
		leased := make(chan []string, 1000)
		b.race(8, func(s idem.Store) error {
			for {
				rows, err := s.LeaseOutbox(b.ctx, 7, long)
				if err != nil || len(rows) == 0 {
					return err
				}
				leased <- ids(rows)
			}
		})
		close(leased)
		seen := map[string]bool{}
		for batch := range leased {
			for _, id := range batch {
				if seen[id] {
					b.Errorf("row %q was leased twice", id)
				}
				seen[id] = true
			}
		}
		// A relay that found nothing may have run while another held the rows.
		for _, id := range ids(b.lease(b.store, 100, long)) {
			seen[id] = true
		}
		if len(seen) != 50 {
			b.Errorf("%d of 50 rows were leased", len(seen))
		}
	}},
	{"LeaseLimit", func(b *bench) {
		b.emit(idem.Outgoing{ID: "a", Topic: "t"}, idem.Outgoing{ID: "b", Topic: "t"})
		if rows := b.lease(b.store, 0, long); len(rows) != 0 {
			b.Fatalf("leased %v with n 0", ids(rows))
		}
		if rows := b.lease(b.store, 1, long); len(rows) != 1 {
			b.Fatalf("leased %v with n 1", ids(rows))
		}
	}},
	{"DelayIsRespected", func(b *bench) {
		start := time.Now()
		b.emit(idem.Outgoing{ID: "later", Topic: "orders", Delay: tick}, idem.Outgoing{ID: "never", Topic: "orders", Delay: long}, idem.Outgoing{ID: "now", Topic: "orders"})
		if n, oldest, err := b.store.OutboxDepth(b.ctx); err != nil || n != 3 || oldest < 0 || oldest > patience {
			b.Fatalf("depth %d, oldest %v, %v", n, oldest, err)
		}
		b.until("the row without delay is leased", func() bool { return slices.Contains(ids(b.lease(b.store, 1, long)), "now") })
		b.notBefore(start, tick, "the delayed row is leased", func() bool { return slices.Contains(ids(b.lease(b.store, 10, long)), "later") })
	}},
	{"LeaseExpires", func(b *bench) {
		b.emit(idem.Outgoing{ID: "o", Topic: "orders"})
		start := time.Now()
		first := b.lease(b.store, 10, tick)
		var second []idem.OutboxRow
		b.notBefore(start, tick, "another relay gets the row", func() bool {
			second = b.lease(b.other, 10, long)
			return len(second) == 1
		})
		if second[0].Attempts != 1 || second[0].Lease == first[0].Lease {
			b.Fatalf("second lease is %+v", second[0])
		}
		// The first relay comes back from the dead: it changes nothing.
		b.ok(b.store.Published(b.ctx, first...))
		b.ok(b.store.Postponed(b.ctx, 0, first...))
		b.wantDepth(1)
		if rows := b.lease(b.store, 10, long); len(rows) != 0 {
			b.Fatalf("a stale Postponed ended the lease of %v", ids(rows))
		}
		b.ok(b.other.Published(b.ctx, second...))
		b.wantDepth(0)
	}},
	{"PostponedComesBack", func(b *bench) {
		b.emit(idem.Outgoing{ID: "o", Topic: "orders", Payload: []byte("p")})
		rows := b.lease(b.store, 10, long)
		start := time.Now()
		b.ok(b.store.Postponed(b.ctx, tick, rows...))
		b.ok(b.store.Published(b.ctx, rows...)) // the lease is over: this changes nothing
		b.wantDepth(1)
		b.notBefore(start, tick, "the postponed row is leased", func() bool {
			rows = b.lease(b.other, 10, long)
			return len(rows) == 1
		})
		if rows[0].Attempts != 1 || string(rows[0].Payload) != "p" {
			b.Fatalf("came back as %+v", rows[0])
		}
		b.ok(b.other.Postponed(b.ctx, 0, rows...))
		if rows = b.lease(b.store, 10, long); len(rows) != 1 || rows[0].Attempts != 2 {
			b.Fatalf("postponed by 0 came back as %v", rows)
		}
	}},
	{"DepthAndAge", func(b *bench) {
		b.emit(idem.Outgoing{ID: "later", Topic: "orders", Delay: long})
		if n, oldest, err := b.store.OutboxDepth(b.ctx); err != nil || n != 1 || oldest != 0 {
			b.Fatalf("depth %d, oldest due %v, %v; want 1 row and none due", n, oldest, err)
		}
		b.emit(idem.Outgoing{ID: "now", Topic: "orders"})
		b.until("the age of the due row grows", func() bool {
			n, oldest, err := b.store.OutboxDepth(b.ctx)
			b.ok(err)
			if n != 2 {
				b.Fatalf("depth %d, want 2", n)
			}
			return oldest > tick/4
		})
	}},
	{"Wake", func(b *bench) {
		wake := b.store.OutboxWake()
		b.do(func(idem.Tx) error { return nil })
		_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
			b.ok(tx.Emit(b.ctx, idem.Outgoing{ID: "x", Topic: "orders"}))
			return errRollback
		})
		select {
		case <-wake:
			b.Fatal("woken although nothing was committed")
		default:
		}
		for i := range 3 { // nobody listens: the sender must not block
			b.emit(idem.Outgoing{ID: fmt.Sprint("o", i), Topic: "orders"})
		}
		b.until("a commit wakes the relay", func() bool {
			select {
			case <-wake:
				return true
			default:
				return false
			}
		})
	}},
}

// same compares bytes and tells nil from empty.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func sameHeaders(a, b []idem.Header) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}
