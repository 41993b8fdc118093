package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

func letter(id string) idem.DeadLetter {
	return idem.DeadLetter{ID: id, Consumer: "shop", Key: "k", State: idem.DeadLetterParked, Reason: idem.ReasonPermanent,
		Class: idem.ClassPermanent, Error: "no such article", Attempts: 1, MessageID: "m", Topic: "orders", Position: "0/1"}
}

var deadLetterCases = []testCase{
	{"RoundTrip", func(b *bench) {
		at := time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)
		want := idem.DeadLetter{
			ID: "dl", Consumer: "shop", Key: "k\x00\xff", Fingerprint: "f", State: idem.DeadLetterDiscarded, Reason: idem.ReasonInvalid,
			Class: idem.ClassInvalid, Error: "kaputt: ü", Attempts: 5, MessageID: "m", Topic: "orders", Position: "3/17", EnqueuedAt: at,
			CorrelationID: "c", TraceParent: "00-1-2-01",
			Envelope: idem.Envelope{Key: []byte{0, 254}, Headers: []idem.Header{{Name: "a", Value: []byte{255}}, {Name: "b", Value: []byte("x")}, {Name: "a", Value: []byte{}}}},
			Payload:  []byte{0, 255, 7}, Edits: 2,
			FirstFailed: at.Add(time.Second), LastFailed: at.Add(time.Minute),
		}
		b.park(want, true)
		got, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
		b.wantLetter(got, want)
	}},
	{"NilAndEmpty", func(b *bench) {
		none, empty := letter("none"), letter("empty")
		empty.Envelope.Key, empty.Payload = []byte{}, []byte{}
		for _, want := range []idem.DeadLetter{none, empty} {
			b.park(want, true)
			got, err := b.store.GetDeadLetter(b.ctx, want.ID)
			b.ok(err)
			if !same(got.Payload, want.Payload) || !same(got.Envelope.Key, want.Envelope.Key) {
				b.Errorf("%s came back with payload %#v and key %#v", want.ID, got.Payload, got.Envelope.Key)
			}
		}
	}},
	{"ErrorTextOfAnyBytes", func(b *bench) {
		d := letter("dl")
		d.Error, d.MessageID, d.CorrelationID, d.TraceParent, d.Position = "bad \x00 \xff", "\xff\x00", "\x00\xff", "\xff", "\x00"
		b.park(d, true)
		_, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
	}},
	{"ParkAfterReplayOrDiscard", func(b *bench) {
		for _, state := range []idem.DeadLetterState{idem.DeadLetterReplayed, idem.DeadLetterDiscarded} {
			d := letter("dl " + string(state))
			b.park(d, true)
			b.do(func(tx idem.Tx) error {
				_, err := b.store.MoveDeadLetter(b.ctx, tx, d.ID, state)
				return err
			})
			d.Reason, d.Error, d.Attempts = idem.ReasonExhausted, "again", 7
			b.park(d, true)
			got, err := b.store.GetDeadLetter(b.ctx, d.ID)
			b.ok(err)
			if got.State != idem.DeadLetterParked || got.Reason != d.Reason || got.Error != d.Error || got.Attempts != d.Attempts {
				b.Errorf("%s, then failed again: %+v", state, got)
			}
		}
	}},
	{"ParkTwiceIsOne", func(b *bench) {
		first, second := letter("dl"), letter("dl")
		second.Error = "another text"
		b.park(first, true)
		b.park(second, false)
		b.do(func(tx idem.Tx) error {
			for _, want := range []bool{true, false} {
				stored, err := tx.Park(b.ctx, letter("twin"))
				b.ok(err)
				if stored != want {
					b.Errorf("Park in one transaction reported %v, want %v", stored, want)
				}
			}
			return nil
		})
		got, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
		if got.Error != first.Error {
			b.Fatalf("the second Park changed the error to %q", got.Error)
		}
	}},
	{"DefaultsOfTheStore", func(b *bench) {
		d := letter("dl")
		d.State = ""
		before := time.Now().Add(-time.Minute)
		b.park(d, true)
		got, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
		if got.State != idem.DeadLetterParked || got.FirstFailed.Before(before) || got.LastFailed.Before(got.FirstFailed) || !got.EnqueuedAt.IsZero() {
			b.Fatalf("defaults are %+v", got)
		}
	}},
	{"NotFound", func(b *bench) {
		if _, err := b.store.GetDeadLetter(b.ctx, "none"); !errors.Is(err, idem.ErrNotFound) {
			b.Errorf("GetDeadLetter returned %v, want ErrNotFound", err)
		}
		err := b.store.Do(b.ctx, func(tx idem.Tx) error {
			_, err := b.store.MoveDeadLetter(b.ctx, tx, "none", idem.DeadLetterReplayed)
			return err
		})
		if !errors.Is(err, idem.ErrNotFound) {
			b.Errorf("MoveDeadLetter returned %v, want ErrNotFound", err)
		}
	}},
	{"ListFilters", func(b *bench) {
		other := idem.DeadLetter{ID: "2", Consumer: "mail", Key: "k2", State: idem.DeadLetterDiscarded, Reason: idem.ReasonBug,
			Class: idem.ClassBug, Topic: "invoices", Payload: []byte("secret")}
		b.park(letter("1"), true)
		b.park(other, true)
		b.park(letter("3"), true)
		for _, c := range []struct {
			q    idem.DeadLetterQuery
			want []string
		}{
			{idem.DeadLetterQuery{}, []string{"1", "2", "3"}},
			{idem.DeadLetterQuery{Consumer: "mail"}, []string{"2"}},
			{idem.DeadLetterQuery{Topic: "invoices"}, []string{"2"}},
			{idem.DeadLetterQuery{Reason: idem.ReasonPermanent}, []string{"1", "3"}},
			{idem.DeadLetterQuery{Class: idem.ClassBug}, []string{"2"}},
			{idem.DeadLetterQuery{State: idem.DeadLetterParked}, []string{"1", "3"}},
			{idem.DeadLetterQuery{Key: "k2"}, []string{"2"}},
			{idem.DeadLetterQuery{Key: "K2"}, nil},
			{idem.DeadLetterQuery{Consumer: "mail", Topic: "orders"}, nil},
			{idem.DeadLetterQuery{Consumer: "shop", Topic: "orders", Key: "k", Class: idem.ClassPermanent, State: idem.DeadLetterParked, After: "1"}, []string{"3"}},
		} {
			got := b.list(c.q)
			if !slices.Equal(letterIDs(got), c.want) {
				b.Errorf("%+v lists %v, want %v", c.q, letterIDs(got), c.want)
			}
			for _, d := range got {
				if d.Payload != nil {
					b.Errorf("%+v lists a payload", c.q)
				}
			}
		}
	}},
	{"ListPages", func(b *bench) {
		var want []string
		b.do(func(tx idem.Tx) error {
			for i := range 107 {
				want = append(want, fmt.Sprint("dl", i))
				if _, err := tx.Park(b.ctx, letter(want[i])); err != nil {
					return err
				}
			}
			return nil
		})
		if got := b.list(idem.DeadLetterQuery{}); len(got) != 100 {
			b.Errorf("a page without limit has %d rows, want 100", len(got))
		}
		var got []string
		for after := ""; len(got) <= len(want); {
			page := letterIDs(b.list(idem.DeadLetterQuery{After: after, Limit: 10}))
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		// Those of one transaction may bear one time: their order is the store's.
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			b.Errorf("the pages hold %d rows, want each of %d once", len(got), len(want))
		}
	}},
	{"MoveSetsStateAndReturnsBefore", func(b *bench) {
		b.park(letter("dl"), true)
		for i, to := range []idem.DeadLetterState{idem.DeadLetterReplayed, idem.DeadLetterReplayed, idem.DeadLetterParked, idem.DeadLetterDiscarded} {
			before, err := b.store.GetDeadLetter(b.ctx, "dl")
			b.ok(err)
			b.do(func(tx idem.Tx) error {
				was, err := b.store.MoveDeadLetter(b.ctx, tx, "dl", to)
				b.ok(err)
				b.wantLetter(was, before)
				return nil
			})
			after, err := b.store.GetDeadLetter(b.ctx, "dl")
			b.ok(err)
			if after.State != to || after.Replays != min(i+1, 2) {
				b.Fatalf("after move %d to %s: state %s, replays %d", i, to, after.State, after.Replays)
			}
		}
	}},
	{"MoveRollsBack", func(b *bench) {
		b.park(letter("dl"), true)
		_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
			_, err := b.store.MoveDeadLetter(b.ctx, tx, "dl", idem.DeadLetterReplayed)
			b.ok(err)
			return errRollback
		})
		got, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
		if got.State != idem.DeadLetterParked || got.Replays != 0 {
			b.Fatalf("state %s, replays %d after a roll-back", got.State, got.Replays)
		}
	}},
	{"MoveSerialises", func(b *bench) {
		// Two operators press replay at the same moment: one replay.
		b.park(letter("dl"), true)
		b.race(8, func(s idem.Store) error {
			return s.Do(b.ctx, func(tx idem.Tx) error {
				was, err := s.MoveDeadLetter(b.ctx, tx, "dl", idem.DeadLetterReplayed)
				if err != nil {
					return err
				}
				if was.State != idem.DeadLetterParked {
					_, err = s.MoveDeadLetter(b.ctx, tx, "dl", was.State)
					return errors.Join(err, b.Effect(b.ctx, tx, "refused"))
				}
				return b.Effect(b.ctx, tx, "replayed")
			})
		})
		b.wantRows("replayed", 1)
		b.wantRows("refused", 7)
	}},
	{"MoveSeesParkOfItsTransaction", func(b *bench) {
		b.do(func(tx idem.Tx) error {
			_, err := tx.Park(b.ctx, letter("dl"))
			b.ok(err)
			_, err = b.store.MoveDeadLetter(b.ctx, tx, "dl", idem.DeadLetterDiscarded)
			return err
		})
		got, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
		if got.State != idem.DeadLetterDiscarded {
			b.Fatalf("state %s", got.State)
		}
	}},
	{"Count", func(b *bench) {
		b.park(letter("1"), true)
		b.park(letter("2"), true)
		discarded := letter("3")
		discarded.State = idem.DeadLetterDiscarded
		b.park(discarded, true)
		b.until("the age of the oldest grows", func() bool {
			n, oldest, err := b.store.CountDeadLetters(b.ctx)
			b.ok(err)
			if n != 2 {
				b.Fatalf("%d parked, want 2", n)
			}
			return oldest > tick/4
		})
		b.do(func(tx idem.Tx) error {
			_, err := b.store.MoveDeadLetter(b.ctx, tx, "1", idem.DeadLetterReplayed)
			return err
		})
		n, _, err := b.store.CountDeadLetters(b.ctx)
		b.ok(err)
		if n != 1 {
			b.Fatalf("%d parked after a replay, want 1", n)
		}
	}},
}

func (b *bench) park(d idem.DeadLetter, want bool) {
	b.Helper()
	b.do(func(tx idem.Tx) error {
		stored, err := tx.Park(b.ctx, d)
		if err == nil && stored != want {
			b.Errorf("Park of %q reported %v, want %v", d.ID, stored, want)
		}
		return err
	})
}

func (b *bench) list(q idem.DeadLetterQuery) []idem.DeadLetter {
	b.Helper()
	got, err := b.store.ListDeadLetters(b.ctx, q)
	b.ok(err)
	return got
}

func (b *bench) wantLetter(got, want idem.DeadLetter) {
	b.Helper()
	if !got.EnqueuedAt.Equal(want.EnqueuedAt) || !got.FirstFailed.Equal(want.FirstFailed) || !got.LastFailed.Equal(want.LastFailed) {
		b.Errorf("times are %v %v %v, want %v %v %v", got.EnqueuedAt, got.FirstFailed, got.LastFailed, want.EnqueuedAt, want.FirstFailed, want.LastFailed)
	}
	if !same(got.Payload, want.Payload) || !same(got.Envelope.Key, want.Envelope.Key) || !sameHeaders(got.Envelope.Headers, want.Envelope.Headers) {
		b.Errorf("bytes are %q %q %q, want %q %q %q", got.Payload, got.Envelope.Key, got.Envelope.Headers, want.Payload, want.Envelope.Key, want.Envelope.Headers)
	}
	if g, w := letterText(got), letterText(want); g != w {
		b.Errorf("dead letter is\n%s, want\n%s", g, w)
	}
}

// letterText is everything of a dead letter but bytes and times.
func letterText(d idem.DeadLetter) string {
	return fmt.Sprintf("%q", []any{d.ID, d.Consumer, d.Key, d.Fingerprint, d.State, d.Reason, d.Class, d.Error, d.Attempts,
		d.MessageID, d.Topic, d.Position, d.CorrelationID, d.TraceParent, d.Replays, d.Edits})
}

func letterIDs(ds []idem.DeadLetter) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}
