package idemtest

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/idem-go/idem/framework/idem"
)

// effect asks the fixture's probe. It may be called from any goroutine.
func (s *stage) effect(m Message) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
	defer cancel()
	return s.probes.effect(ctx, m)
}

// meaning says what a wrong number of effects usually means.
type meaning struct{ missing, extra string }

// wantEffect asks the probe how often the effect of m is there. happened tells
// what was done to the message.
func (s *stage) wantEffect(m Message, want int, happened string, usually meaning) {
	s.Helper()
	got, err := s.effect(m)
	switch {
	case err != nil:
		s.Fatalf("the fixture's Effect failed: %v", err)
	case got == want:
		return
	}
	hint := usually.missing
	if got > want {
		hint = usually.extra
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Errorf("%s: %s\n\twhat happened: %s%s%s", happened, counted(got, want), s.story(), s.remarks(), usual(hint))
}

func usual(hint string) string {
	if hint == "" {
		return ""
	}
	return "\n\tusually: " + hint
}

func counted(got, want int) string {
	there := fmt.Sprintf("the effect is there %d times", got)
	switch got {
	case 0:
		there = "the effect is not there"
	case 1:
		there = "the effect is there once"
	case 2:
		there = "the effect is there twice"
	}
	switch want {
	case 0:
		return there + ", it should not be there yet"
	case 1:
		return there + ", it should be there once"
	default:
		return fmt.Sprintf("%s, it should be there %d times", there, want)
	}
}

// wantRuns checks how often the handler's own code was called for m's key.
func (s *stage) wantRuns(p phase, id string, want int, happened string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key, got := s.keyOf(id), 0
	for _, r := range s.runs {
		if r.phase == p && r.key == key && r.worked {
			got++
		}
	}
	if got != want {
		s.Errorf("%s: %s ran %d times for this key, want %d\n\twhat happened: %s", happened, p, got, want, s.story())
	}
}

// keyOf returns the key under which a message was processed; the stage is locked.
func (s *stage) keyOf(id string) string {
	for _, e := range s.ends {
		if e.message == id {
			return e.key
		}
	}
	return ""
}

func (s *stage) key(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keyOf(id)
}

// endingsOf returns the ends of a message's deliveries, in their order.
func (s *stage) endingsOf(id string) (out []ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.ends {
		if e.message == id {
			out = append(out, e)
		}
	}
	return out
}

// finally returns the last of them.
func (s *stage) finally(id string) ending {
	all := s.endingsOf(id)
	if len(all) == 0 {
		return ending{}
	}
	return all[len(all)-1]
}

// wantKind checks how the last delivery of a message ended.
func (s *stage) wantKind(id string, want idem.Kind, happened string) {
	s.Helper()
	if e := s.finally(id); e.outcome.Kind != want {
		s.Errorf("%s: ended as %q, want %q (error: %v)", happened, e.outcome.Kind, want, e.err)
	}
}

// letter finds the dead letter of a message.
func (s *stage) letter(id string) (idem.DeadLetter, bool) {
	s.Helper()
	for d, err := range s.world.parts.DeadLetters.All(s.Context(), idem.DeadLetterQuery{Consumer: s.op.Name}) {
		if err != nil {
			s.Fatalf("listing the dead letters failed: %v", err)
		}
		if d.MessageID != id {
			continue
		}
		full, err := s.world.parts.DeadLetters.Get(s.Context(), d.ID)
		if err != nil {
			s.Fatalf("reading dead letter %s failed: %v", d.ID, err)
		}
		return full, true
	}
	return idem.DeadLetter{}, false
}

// wantLetter checks the dead letter of a message: its reason, one of those
// given, and that it holds the message unchanged.
func (s *stage) wantLetter(id string, state idem.DeadLetterState, happened string, reasons ...string) idem.DeadLetter {
	s.Helper()
	d, ok := s.letter(id)
	if !ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Fatalf("%s: there is no dead letter\n\twhat happened: %s", happened, s.story())
	}
	if !strings.Contains(" "+strings.Join(reasons, " ")+" ", " "+d.Reason+" ") {
		s.Errorf("%s: the dead letter has reason %q (class %s, error %q), want %s", happened, d.Reason, d.Class, d.Error, strings.Join(reasons, " or "))
	}
	if d.State != state {
		s.Errorf("%s: the dead letter is %q, want %q", happened, d.State, state)
	}
	m := s.sent[id]
	if !bytes.Equal(d.Payload, m.body(s.T)) {
		s.Errorf("%s: the dead letter has not the bytes that were sent: %d of them, %d were sent", happened, len(d.Payload), len(m.body(s.T)))
	}
	if !sameHeaders(d.Envelope.Headers, m.Headers) {
		s.Errorf("%s: the dead letter has not the headers that were sent: %d of them, %d were sent", happened, len(d.Envelope.Headers), len(m.Headers))
	}
	return d
}

// finish checks what must hold at the end of every subtest.
func (s *stage) finish() {
	s.Helper()
	if _, late := s.world.db.remarks(); late != "" {
		s.Errorf("the handler returned while a goroutine it had started still wanted to run statements: %s\n\t"+
			"what such a goroutine writes is not part of the unit of work: it is lost, or done twice. Wait for it before returning", late)
	}
}
