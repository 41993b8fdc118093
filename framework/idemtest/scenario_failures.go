package idemtest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// retry: the handler does its work and the unit of work is rolled back; then
// all goes well. An external call that was not made comes before that.
func (s *stage) retry() {
	s.failFirst("the first run was rolled back after the handler had done its work", func(ctx context.Context, work func(context.Context) error) error {
		if err := work(ctx); err != nil {
			return err
		}
		return idem.Transient(fmt.Errorf("%w: roll this back", errMade))
	})
}

// panics is retry by a panic.
func (s *stage) panics() {
	s.failFirst("the first run ended in a panic after the handler had done its work", func(ctx context.Context, work func(context.Context) error) error {
		if err := work(ctx); err != nil {
			return err
		}
		panic(errMade)
	})
}

// failFirst lets the first run of what happens in the unit of work fail.
func (s *stage) failFirst(what string, fail func(context.Context, func(context.Context) error) error) {
	m := s.sample(0)
	type count struct {
		n   int
		err error
	}
	between := make(chan count, 1)
	var failed atomic.Bool
	s.before = func(*idem.Attempt) {
		if failed.Load() { // there is one message: one delivery at a time
			n, err := s.effect(m)
			select {
			case between <- count{n, err}:
			default:
			}
		}
	}
	s.fault = func(ctx context.Context, r *run, work func(context.Context) error) error {
		switch {
		case r.phase == calling && r.n == 1:
			return idem.NotApplied(idem.Transient(fmt.Errorf("%w: the call did not get through", errMade)))
		case r.phase == s.local() && r.n == 1:
			failed.Store(true)
			return fail(ctx, work)
		}
		return work(ctx)
	}
	s.deliver(m, "a-1")
	if !s.external { // what a third party has is not rolled back
		select {
		case c := <-between:
			if c.err != nil {
				s.Fatalf("the fixture's Effect failed: %v", c.err)
			}
			if c.n != 0 {
				s.Errorf("%s: before the second run %s%s%s", what, counted(c.n, 0), s.remarks(), usual(meansOutside))
			}
		default:
			s.Errorf("%s: there was no second delivery", what)
		}
	}
	happened := what + ", the second one went well"
	s.wantKind("a-1", idem.Done, happened)
	s.wantEffect(m, 1, happened, meaning{
		missing: meansLost + "; or the handler remembers outside the database that it has done its work",
		extra:   meansOutside,
	})
	if s.external {
		s.wantRuns(calling, "a-1", 1, happened)
	}
}

// database: the first run finds a database that does not answer.
func (s *stage) database() {
	m := s.sample(0)
	s.tolerant = true
	var first error
	s.fault = func(ctx context.Context, r *run, work func(context.Context) error) error {
		if r.phase != s.local() || r.n > 1 {
			return work(ctx)
		}
		dead, cancel := context.WithCancelCause(ctx)
		cancel(fmt.Errorf("%w: the database is gone", errMade))
		first = work(dead)
		return first
	}
	s.deliver(m, "a-1")
	happened := fmt.Sprintf("no statement of the first run could be carried out, %s returned %v, and the message ended as %q",
		s.local(), first, s.finally("a-1").outcome.Kind)
	missing := "the message came to another end than success: " + fmt.Sprint(s.finally("a-1").err)
	if first == nil {
		missing = "an error of the database is not returned, so the message is marked as done without its effect: return every error"
	}
	s.wantEffect(m, 1, happened, meaning{missing: missing, extra: meansOutside})
}

// permanent: the message is given up.
func (s *stage) permanent() {
	m := s.sample(0)
	s.giveUp(m, false)
	const happened = "the handler gave the message up as permanent after its work"
	d := s.wantLetter("a-1", idem.DeadLetterParked, happened, idem.ReasonPermanent)
	if d.Class != idem.ClassPermanent {
		s.Errorf("%s: the dead letter has class %q, want %q", happened, d.Class, idem.ClassPermanent)
	}
	s.wantEffect(m, 0, happened, meaning{extra: meansOutside})
	s.deliver(m, "a-2")
	s.wantKind("a-2", idem.Duplicate, "the message came again while its dead letter was waiting")
	s.wantEffect(m, 0, "the message came again while its dead letter was waiting", meaning{extra: meansOutside})
}

// replay: somebody sends the dead letter back once the trouble is over.
func (s *stage) replay() {
	m := s.sample(0)
	s.giveUp(m, true)
	d := s.wantLetter("a-1", idem.DeadLetterParked, "the handler gave the message up as permanent", idem.ReasonPermanent)
	s.mu.Lock()
	s.due["a-1"]++
	s.mu.Unlock()
	if err := s.world.parts.DeadLetters.Replay(s.Context(), d.ID, deadletter.ReplayOptions{}); err != nil {
		s.Fatalf("the dead letter could not be replayed: %v", err)
	}
	s.settled()
	const happened = "the dead letter was replayed"
	s.wantKind("a-1", idem.Done, happened)
	s.wantEffect(m, 1, happened, meaning{missing: meansLost, extra: meansOutside})
	if err := s.world.parts.DeadLetters.Replay(s.Context(), d.ID, deadletter.ReplayOptions{}); err == nil {
		s.Errorf("%s: a second replay of it was not refused", happened)
	}
	s.deliver(m, "a-2")
	s.wantKind("a-2", idem.Duplicate, "the message was sent again after the replay")
	s.wantEffect(m, 1, "the message was sent again after the replay", meaning{extra: meansOutside})
}

// giveUp delivers m, which ends as a dead letter. Only the first run fails if
// once is set.
func (s *stage) giveUp(m Message, once bool) {
	s.fault = func(ctx context.Context, r *run, work func(context.Context) error) error {
		if r.phase != s.main() || once && r.n > 1 {
			return work(ctx)
		}
		if !s.external { // a call that is given up was not made
			if err := work(ctx); err != nil {
				return err
			}
		}
		return idem.Permanent(fmt.Errorf("%w: never again", errMade))
	}
	s.deliver(m, "a-1")
}

// lostResult: the third party did its work and the answer did not arrive.
func (s *stage) lostResult() {
	m := s.sample(0)
	s.tolerant = true
	s.fault = func(ctx context.Context, r *run, work func(context.Context) error) error {
		err := work(ctx)
		if r.phase == calling && r.n == 1 && err == nil {
			return fmt.Errorf("%w: the answer was lost", errMade)
		}
		return err
	}
	s.deliver(m, "a-1")
	const happened = "the call was made and its answer was lost"
	s.mu.Lock()
	calls, asked := 0, len(s.answers)
	for _, r := range s.runs {
		if r.phase == calling {
			calls++
		}
	}
	var last idem.CallOutcome
	if asked > 0 {
		last = s.answers[asked-1]
	}
	s.mu.Unlock()
	got, err := s.effect(m)
	switch e := s.finally("a-1"); {
	case err != nil:
		s.Fatalf("the fixture's Effect failed: %v", err)
	case calls > 1 && asked == 0:
		s.Errorf("%s: Call was made %d times and nobody asked what became of the first", happened, calls)
	case got > 1:
		s.Errorf("%s: %s. Reconcile said %s after the call had been made: ask the third party by msg.Key, "+
			"and say CallNotApplied only if the call can no longer take effect", happened, counted(got, 1), outcomeName(last))
	case e.outcome.Kind == idem.Done && got != 1:
		s.Errorf("%s: the message is marked as done, but %s: does Apply write what Reconcile found?", happened, counted(got, 1))
	case e.outcome.Kind == idem.Done:
	case e.outcome.Kind == idem.Dead:
		s.wantLetter("a-1", idem.DeadLetterParked, happened, idem.ReasonUnknownOutcome)
		s.Logf("%s: the message was parked as %s for somebody to look at (a Reconcile that can tell spares them that)", happened, idem.ReasonUnknownOutcome)
	default:
		s.Errorf("%s: the message ended as %q (error: %v), want done, or a dead letter of reason %s", happened, e.outcome.Kind, e.err, idem.ReasonUnknownOutcome)
	}
}

func outcomeName(o idem.CallOutcome) string {
	switch o {
	case idem.CallApplied:
		return "CallApplied"
	case idem.CallNotApplied:
		return "CallNotApplied"
	default:
		return "CallUnknown"
	}
}
