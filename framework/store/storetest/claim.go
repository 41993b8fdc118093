package storetest

import (
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var claimCases = []testCase{
	{"NewKey", func(b *bench) {
		b.do(func(tx idem.Tx) error {
			r, err := tx.Claim(b.ctx, claim("k"))
			b.ok(err)
			if r.Status != idem.StatusNew || r.Attempts != 0 || r.LastError != "" || len(r.Result) != 0 || r.LeaseLeft > 0 {
				b.Fatalf("record of a new key is %+v", r)
			}
			return tx.Save(b.ctx, claim("k"), idem.Update{Status: idem.StatusDone, Attempts: 1})
		})
		b.wantStatus(claim("k"), idem.StatusDone)
	}},
	{"WithoutSaveMayRunAgain", func(b *bench) {
		b.do(func(tx idem.Tx) error { _, err := tx.Claim(b.ctx, claim("k")); return err })
		if s := b.peek(claim("k")).Status; s != idem.StatusNew && s != idem.StatusPending {
			b.Fatalf("status %q after a claim without Save, want one that may run", s)
		}
	}},
	{"LeavesAnExistingRecordAsItIs", func(b *bench) {
		b.save(claim("k"), idem.Update{Status: idem.StatusDone, Attempts: 1})
		second := claim("k")
		second.Fingerprint, second.Token = "f2", "t2"
		b.do(func(tx idem.Tx) error { _, err := tx.Claim(b.ctx, second); return err })
		if r := b.peek(second); r.Fingerprint != "f1" || r.Token != "t1" {
			b.Fatalf("Claim alone changed fingerprint or token to %q, %q", r.Fingerprint, r.Token)
		}
	}},
	{"SeesItsOwnSave", func(b *bench) {
		b.do(func(tx idem.Tx) error {
			_, err := tx.Claim(b.ctx, claim("k"))
			b.ok(err)
			b.ok(tx.Save(b.ctx, claim("k"), idem.Update{Status: idem.StatusDone}))
			r, err := tx.Claim(b.ctx, claim("k"))
			if r.Status != idem.StatusDone {
				b.Fatalf("a second message with the key in one transaction finds %q, want done", r.Status)
			}
			return err
		})
	}},
	{"ScopedByConsumer", func(b *bench) {
		b.save(claim("k"), idem.Update{Status: idem.StatusDone})
		mail := claim("k")
		mail.Consumer = "mail"
		b.wantStatus(mail, idem.StatusNew)
		// The boundary between consumer and key is not guessed from the text.
		b.wantStatus(idem.Claim{Consumer: "sho", Key: "pk", Retention: long}, idem.StatusNew)
	}},
	{"KeysAreBytes", func(b *bench) {
		keys := []string{
			"A", "a", "a ", " a", "a\x00", "a\x00b", "\x00", "\xff\xfe", "\xff",
			"ä", "a\u0308", "Ä", "ß", "ss", "日本", "1", "01", "1.0", "'", `\`, `%`, "\n",
			strings.Repeat("k", 256), strings.Repeat("\xfe", 256), strings.Repeat("k", 255),
		}
		for _, k := range keys {
			if r := b.save(claim(k), idem.Update{Status: idem.StatusDone, LastError: "of " + string(rune('a'+len(k)%20))}); r.Status != idem.StatusNew {
				b.Errorf("key %q was taken for another one", k)
			}
		}
		for _, k := range keys {
			b.wantStatus(claim(k), idem.StatusDone)
		}
	}},
	{"ManyKeysInOneTransaction", func(b *bench) {
		b.do(func(tx idem.Tx) error {
			for _, k := range []string{"a", "b", "c"} {
				_, err := tx.Claim(b.ctx, claim(k))
				b.ok(err)
			}
			return tx.Save(b.ctx, claim("b"), idem.Update{Status: idem.StatusDone})
		})
		b.wantStatus(claim("b"), idem.StatusDone)
	}},
	{"SaveTellsWhatTheClaimDidNot", func(b *bench) {
		saved := claim("a")
		saved.Token, saved.Fingerprint = "t2", "f2"
		b.do(func(tx idem.Tx) error {
			for _, k := range []string{"a", "b"} {
				_, err := tx.Claim(b.ctx, claim(k))
				b.ok(err)
			}
			b.ok(tx.Save(b.ctx, claim("b"), idem.Update{Status: idem.StatusDone, Attempts: 1}))
			return tx.Save(b.ctx, saved, idem.Update{Status: idem.StatusDone, Attempts: 1})
		})
		if r := b.peek(claim("a")); r.Status != idem.StatusDone || r.Token != "t2" || r.Fingerprint != "f2" {
			b.Errorf("the record is %+v, want what Save was given", r)
		}
		if r := b.peek(claim("b")); r.Token != "t1" || r.Fingerprint != "f1" {
			b.Errorf("the other key's record is %+v", r)
		}
	}},
	{"ServerTimes", func(b *bench) {
		before := time.Now().Add(-time.Minute)
		b.save(claim("k"), idem.Update{Status: idem.StatusPending, LastError: "x"})
		first := b.peek(claim("k"))
		for what, at := range map[string]time.Time{"first seen": first.FirstSeen, "first failed": first.FirstFailed} {
			if at.Before(before) || at.After(time.Now().Add(time.Minute)) {
				b.Errorf("%s is %v", what, at)
			}
		}
		b.until("the clock moves", func() bool { return time.Since(first.FirstSeen) > tick/4 })
		b.save(claim("k"), idem.Update{Status: idem.StatusPending, LastError: "y"})
		if again := b.peek(claim("k")); !again.FirstSeen.Equal(first.FirstSeen) || !again.FirstFailed.Equal(first.FirstFailed) {
			b.Errorf("a later failure moved first seen or first failed: %v, %v", first, again)
		}
	}},
	{"NotFailedYet", func(b *bench) {
		b.save(claim("k"), idem.Update{Status: idem.StatusDone})
		if r := b.peek(claim("k")); !r.FirstFailed.IsZero() || r.FirstSeen.IsZero() {
			b.Fatalf("first failed %v, first seen %v of a key that succeeded at once", r.FirstFailed, r.FirstSeen)
		}
	}},
}
