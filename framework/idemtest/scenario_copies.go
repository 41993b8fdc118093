package idemtest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

const (
	meansOutside = "the write is not made in the transaction of the handler's context: hand the handler's own ctx to World.DB"
	meansKey     = "the key is not the same in every copy of the message: take it from what the producer sends again, not from the message id, the time or a random value"
	meansLost    = "the handler returned nil without having written anything in its transaction: look for an error that is not returned, and for a goroutine that is not waited for"
)

// duplicate: the broker delivers again, and the producer sends again under
// another message id, while messages of another key come between.
func (s *stage) duplicate() {
	a, b, other := s.sample(0), s.sample(1), s.sample(2)
	if !a.equal(s.T, s.sample(0)) {
		s.Fatal("Sample(0) differs from call to call: make it depend on n alone")
	}
	for n, m := range []Message{a, b, other} {
		s.wantEffect(m, 0, fmt.Sprintf("before anything was sent, sample %d", n), meaning{
			extra: "the world is not fresh, or the probe counts what belongs to other messages",
		})
	}
	s.deliver(a, "a-1")
	s.deliver(b, "b-1")
	if s.key("a-1") == s.key("b-1") {
		s.Fatalf("Sample(0) and Sample(1) have the same key: make what the key is taken from (%v) depend on n", s.op.Key.Parts)
	}
	s.wantEffect(a, 1, "sample 0 was delivered once", meaning{
		missing: meansLost + "; or the probe does not count what this handler writes",
		extra:   "the handler does its work more than once in one run, or the probe counts what belongs to other messages",
	})
	if s.Failed() {
		return
	}
	s.publish(a, "a-1", "a-2")
	s.publish(b, "b-2", "b-1")
	s.settled()
	for _, c := range []struct {
		name        string
		m           Message
		first, copy string
	}{{"sample 0", a, "a-1", "a-2"}, {"sample 1", b, "b-1", "b-2"}} {
		happened := c.name + " was delivered again and sent once more under another message id"
		s.wantEffect(c.m, 1, happened, meaning{missing: meansLost, extra: meansKey + "; or " + meansOutside})
		if first, again := s.key(c.first), s.key(c.copy); first != again {
			s.Errorf("%s: its key was %q and then %q: %s", happened, first, again, meansKey)
			continue
		}
		s.wantKind(c.first, idem.Duplicate, happened)
		s.wantKind(c.copy, idem.Duplicate, happened)
		s.wantRuns(s.main(), c.first, 1, happened)
	}
	s.wantEffect(other, 0, "sample 2 was never sent", meaning{extra: "the probe counts what belongs to other messages: select by what identifies m"})
}

// copies is how many race.
const copies = 32

// race: all copies are on their way before the first is decided. Without an
// ordering key nothing makes them wait for each other but the claim.
func (s *stage) race() {
	s.op.Concurrency = copies
	var here atomic.Int64
	all := make(chan struct{})
	s.before = func(a *idem.Attempt) {
		if n := here.Add(1); n == copies {
			close(all)
		} else if n > copies { // one that came back
			return
		}
		enough := time.NewTimer(patience / 5) // a broker may not have so many on their way at once
		defer enough.Stop()
		select {
		case <-all:
		case <-enough.C:
		}
	}
	m := s.sample(0)
	ids := make([]string, copies)
	for i := range ids {
		ids[i] = fmt.Sprintf("copy-%d", i)
	}
	s.deliver(m, ids...)
	happened := fmt.Sprintf("%d copies were delivered at the same time", copies)
	s.wantEffect(m, 1, happened, meaning{missing: meansLost, extra: meansKey + "; or " + meansOutside})
	s.wantRuns(s.main(), ids[0], 1, happened)
	done := 0
	for _, id := range ids {
		switch e := s.finally(id); e.outcome.Kind {
		case idem.Done:
			done++
		case idem.Duplicate:
		default:
			s.Errorf("%s: %s ended as %q (error: %v)", happened, id, e.outcome.Kind, e.err)
		}
	}
	if done != 1 {
		s.Errorf("%s: %d were processed and the others taken for duplicates, want 1", happened, done)
	}
}

// lostAck: the process dies after the commit and before the acknowledgement, so
// the broker delivers again what is done.
func (s *stage) lostAck() {
	s.transport = newForgetful(s.transport)
	m := s.sample(0)
	s.publish(m, "a-1")
	s.mu.Lock()
	s.due["a-1"]++
	s.mu.Unlock()
	s.settled()
	const happened = "the first acknowledgement was lost after the commit, and the message was delivered again"
	s.wantEffect(m, 1, happened, meaning{missing: meansLost, extra: meansKey + "; or " + meansOutside})
	s.wantRuns(s.main(), "a-1", 1, happened)
	s.wantKind("a-1", idem.Duplicate, happened)
}

// keyReuse: a producer uses a key twice.
func (s *stage) keyReuse() {
	switch {
	case s.op.Fingerprint.None:
		s.Skip("the operation compares no content: a key that is used twice cannot be noticed")
	case s.reuse == nil:
		s.Skip("the fixture has no Reuse")
	}
	m := s.sample(0)
	other := s.reuse(m)
	if other.equal(s.T, m) {
		s.Fatal("the fixture's Reuse returns the message as it was: change something that is not part of the key")
	}
	s.deliver(m, "a-1")
	s.wantKind("a-1", idem.Done, "sample 0 was delivered once")
	s.deliver(other, "reuse-1")
	const happened = "another message came with the key of sample 0"
	if first, second := s.key("a-1"), s.key("reuse-1"); first != second {
		s.Fatalf("the fixture's Reuse changes the key from %q to %q: change something that is not part of it", first, second)
	}
	state := idem.DeadLetterParked
	if s.op.OnKeyReuse == idem.ReuseDiscards {
		state = idem.DeadLetterDiscarded
	}
	if s.finally("reuse-1").outcome.Kind == idem.Duplicate {
		s.Fatalf("%s and was taken for a duplicate: the fixture's Reuse changes nothing that the operation's fingerprint compares (%q)",
			happened, s.op.Fingerprint.Pointers)
	}
	s.wantLetter("reuse-1", state, happened, idem.ReasonKeyReuse)
	s.wantEffect(m, 1, happened, meaning{extra: "the handler ran for the second message too"})
	s.wantRuns(s.main(), "a-1", 1, happened)
}
