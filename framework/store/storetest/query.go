package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var queryCases = []testCase{
	{"Filters", func(b *bench) {
		at := time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)
		for i := range 6 {
			d := letter(fmt.Sprint(i))
			d.Attempts, d.LastFailed, d.FirstFailed = i, at.Add(time.Duration(i)*time.Minute), at
			d.Error = []string{"no such article", "Konto gesperrt: 50%", "a_b", "axb", "", "timeout"}[i]
			d.MessageID, d.CorrelationID = fmt.Sprint("Msg-", i), fmt.Sprint("corr-", i)
			b.park(d, true)
		}
		for _, c := range []struct {
			q    idem.DeadLetterQuery
			want []string
		}{
			{idem.DeadLetterQuery{Since: at.Add(4 * time.Minute)}, []string{"4", "5"}},
			{idem.DeadLetterQuery{Until: at.Add(time.Minute)}, []string{"0"}},
			{idem.DeadLetterQuery{Since: at.Add(time.Minute), Until: at.Add(3 * time.Minute)}, []string{"1", "2"}},
			{idem.DeadLetterQuery{MinAttempts: 4}, []string{"4", "5"}},
			{idem.DeadLetterQuery{MaxAttempts: 1}, []string{"0", "1"}},
			{idem.DeadLetterQuery{MinAttempts: 2, MaxAttempts: 3}, []string{"2", "3"}},
			{idem.DeadLetterQuery{Text: "KONTO"}, []string{"1"}},
			{idem.DeadLetterQuery{Text: "50%"}, []string{"1"}},
			{idem.DeadLetterQuery{Text: "a_b"}, []string{"2"}},
			{idem.DeadLetterQuery{Text: `\`}, nil},
			{idem.DeadLetterQuery{Text: "msg-3"}, []string{"3"}},
			{idem.DeadLetterQuery{Text: "corr-4"}, []string{"4"}},
			{idem.DeadLetterQuery{Text: "'; DROP TABLE"}, nil},
			{idem.DeadLetterQuery{Text: "t", MinAttempts: 5, State: idem.DeadLetterParked, Class: idem.ClassPermanent}, []string{"5"}},
		} {
			if got := letterIDs(b.list(c.q)); !slices.Equal(got, c.want) {
				b.Errorf("%+v lists %v, want %v", c.q, got, c.want)
			}
			n, err := b.store.CountMatching(b.ctx, c.q)
			b.ok(err)
			if n != len(c.want) {
				b.Errorf("%+v counts %d, want %d", c.q, n, len(c.want))
			}
		}
	}},
	{"PagesBothWays", func(b *bench) {
		var all []string
		for i := range 25 {
			all = append(all, fmt.Sprintf("%02d", i))
			d := letter(all[i])
			d.Attempts = i % 2
			b.park(d, true)
		}
		oldest := b.pages(idem.DeadLetterQuery{Limit: 4})
		if !slices.Equal(oldest, all) {
			b.Errorf("oldest first: %v", oldest)
		}
		slices.Reverse(all)
		if newest := b.pages(idem.DeadLetterQuery{Limit: 4, Newest: true}); !slices.Equal(newest, all) {
			b.Errorf("newest first: %v", newest)
		}
		odd := b.pages(idem.DeadLetterQuery{Limit: 2, MinAttempts: 1, After: "02", Through: "10"})
		if want := []string{"03", "05", "07", "09"}; !slices.Equal(odd, want) {
			b.Errorf("from 02 through 10: %v, want %v", odd, want)
		}
		back := b.pages(idem.DeadLetterQuery{Limit: 2, MinAttempts: 1, After: "10", Through: "03", Newest: true})
		if want := []string{"09", "07", "05", "03"}; !slices.Equal(back, want) {
			b.Errorf("back from 10 through 03: %v, want %v", back, want)
		}
		for _, q := range []idem.DeadLetterQuery{{After: "none"}, {Through: "none"}} {
			if _, err := b.store.ListDeadLetters(b.ctx, q); !errors.Is(err, idem.ErrNotFound) {
				b.Errorf("%+v returned %v, want ErrNotFound", q, err)
			}
		}
		if n, err := b.store.CountMatching(b.ctx, idem.DeadLetterQuery{After: "20", Limit: 1}); err != nil || n != 25 {
			b.Errorf("a page counts %d, %v, want all 25", n, err)
		}
	}},
	{"EditKeepsTheOriginal", func(b *bench) {
		d := letter("dl")
		d.Payload = []byte{0, 255, 1}
		b.park(d, true)
		for i, payload := range [][]byte{[]byte("first"), {}, []byte("last")} {
			b.do(func(tx idem.Tx) error { return b.store.EditDeadLetter(b.ctx, tx, "dl", payload) })
			got, err := b.store.GetDeadLetter(b.ctx, "dl")
			b.ok(err)
			if !same(got.Payload, payload) || !same(got.Original, d.Payload) || got.Edits != i+1 {
				b.Fatalf("edit %d: payload %q, original %q, %d edits", i+1, got.Payload, got.Original, got.Edits)
			}
		}
		if listed := b.list(idem.DeadLetterQuery{}); listed[0].Edits != 3 || listed[0].Original != nil {
			b.Errorf("listed with %d edits and original %q", listed[0].Edits, listed[0].Original)
		}
		err := b.store.Do(b.ctx, func(tx idem.Tx) error { return b.store.EditDeadLetter(b.ctx, tx, "none", nil) })
		if !errors.Is(err, idem.ErrNotFound) {
			b.Errorf("edit of none: %v", err)
		}
		_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
			b.ok(b.store.EditDeadLetter(b.ctx, tx, "dl", []byte("undone")))
			return errRollback
		})
		got, err := b.store.GetDeadLetter(b.ctx, "dl")
		b.ok(err)
		if string(got.Payload) != "last" || got.Edits != 3 {
			b.Errorf("after a roll-back the payload is %q", got.Payload)
		}
	}},
}

// pages walks all pages of a query.
func (b *bench) pages(q idem.DeadLetterQuery) (ids []string) {
	b.Helper()
	for range 100 {
		page := letterIDs(b.list(q))
		if len(page) == 0 {
			return ids
		}
		ids = append(ids, page...)
		q.After = page[len(page)-1]
	}
	b.Fatal("the pages have no end")
	return nil
}
