package storetest

import (
	"bytes"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var recordCases = []testCase{
	{"RoundTrip", func(b *bench) {
		c := claim("k")
		c.MessageID, c.Source = "msg-1", "orders@3/17"
		b.save(c, idem.Update{Status: idem.StatusPending, Attempts: 3, LastError: "außer Betrieb", Result: []byte{0, 255, 'x'}})
		r := b.peek(c)
		if r.Status != idem.StatusPending || r.Fingerprint != "f1" || r.Token != "t1" || r.Attempts != 3 ||
			r.LastError != "außer Betrieb" || r.MessageID != "msg-1" || r.Source != "orders@3/17" || !bytes.Equal(r.Result, []byte{0, 255, 'x'}) || r.LeaseLeft > 0 {
			b.Fatalf("read back %+v", r)
		}
	}},
	{"EveryStatus", func(b *bench) {
		for _, s := range []idem.Status{idem.StatusPending, idem.StatusStarted, idem.StatusDone, idem.StatusDead, idem.StatusDiscarded} {
			b.save(claim(string(s)), idem.Update{Status: s, Attempts: 1})
			b.wantStatus(claim(string(s)), s)
		}
	}},
	{"SaveTakesTheAttemptsIdentity", func(b *bench) {
		b.save(claim("k"), idem.Update{Status: idem.StatusPending, Attempts: 1, LastError: "first"})
		second := claim("k")
		second.Fingerprint, second.Token = "f2", "t2"
		b.save(second, idem.Update{Status: idem.StatusDone, Attempts: 2})
		r := b.peek(claim("k"))
		if r.Status != idem.StatusDone || r.Fingerprint != "f2" || r.Token != "t2" || r.Attempts != 2 {
			b.Fatalf("read back %+v", r)
		}
		if r.LastError != "first" {
			b.Fatalf("an empty LastError changed the record's to %q", r.LastError)
		}
	}},
	{"ResultIsReplaced", func(b *bench) {
		b.save(claim("k"), idem.Update{Status: idem.StatusDone, Result: []byte("one")})
		b.save(claim("k"), idem.Update{Status: idem.StatusPending})
		if r := b.peek(claim("k")); len(r.Result) != 0 {
			b.Fatalf("result %q outlived a Save without one", r.Result)
		}
	}},
	{"ErrorTextOfAnyBytes", func(b *bench) {
		// An error's text is not ours to choose; a store that rejects some of
		// it turns a failed message into one that cannot even fail.
		c := claim("k")
		c.MessageID, c.Source = "id\x00\xff", "topic@\x00\xff"
		b.save(c, idem.Update{Status: idem.StatusPending, Attempts: 1, LastError: "bad \x00 \xff\xfe text"})
		if r := b.peek(c); r.Attempts != 1 || r.LastError == "" {
			b.Fatalf("read back %+v", r)
		}
	}},
	{"LeaseRuns", func(b *bench) {
		b.save(claim("k"), idem.Update{Status: idem.StatusStarted, Lease: long})
		if left := b.peek(claim("k")).LeaseLeft; left <= long-time.Minute || left > long {
			b.Fatalf("lease left is %v of %v", left, long)
		}
		b.save(claim("k"), idem.Update{Status: idem.StatusStarted, Lease: 2 * long})
		if left := b.peek(claim("k")).LeaseLeft; left <= long {
			b.Fatalf("renewed lease has %v left, want about %v", left, 2*long)
		}
		b.save(claim("k"), idem.Update{Status: idem.StatusDone})
		if left := b.peek(claim("k")).LeaseLeft; left > 0 {
			b.Fatalf("a Save without lease left %v of it", left)
		}
	}},
	{"LeaseExpires", func(b *bench) {
		start := time.Now()
		b.save(claim("k"), idem.Update{Status: idem.StatusStarted, Lease: tick})
		b.notBefore(start, tick, "the lease expires", func() bool {
			r := b.peek(claim("k"))
			if r.Status != idem.StatusStarted {
				b.Fatalf("status %q", r.Status)
			}
			return r.LeaseLeft <= 0
		})
	}},
	{"NoLeaseIsExpired", func(b *bench) {
		for _, d := range []time.Duration{0, -1, -long} {
			b.save(claim("k"), idem.Update{Status: idem.StatusStarted, Lease: d})
			if left := b.peek(claim("k")).LeaseLeft; left > 0 {
				b.Fatalf("a lease of %v has %v left, want expired", d, left)
			}
		}
	}},
}
