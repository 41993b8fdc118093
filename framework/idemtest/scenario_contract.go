package idemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// contract says what a payload type by itself thinks of a payload; nil where it
// cannot be asked.
type contract func(payload []byte) error

// contractOf asks T as generated code and hand-written types are made: by
// UnmarshalJSON and Validate. A T that decodes itself needs the headers, too.
func contractOf[T any]() contract {
	if _, itself := any(new(T)).(idem.MessageDecoder); itself {
		return nil
	}
	return func(payload []byte) error {
		v := new(T)
		if _, raw := any(v).(*[]byte); raw {
			return nil
		}
		if err := json.Unmarshal(payload, v); err != nil {
			return err
		}
		if val, ok := any(v).(interface{ Validate() error }); ok {
			return val.Validate()
		}
		if val, ok := any(*v).(interface{ Validate() error }); ok {
			return val.Validate()
		}
		return nil
	}
}

// invalid: what breaks the contract becomes a dead letter before the handler
// sees it. Which members the contract insists on is the contract's business: a
// message that it lets pass must reach the handler.
func (s *stage) invalid() {
	reached := map[string]bool{} // message ids
	s.fault = func(_ context.Context, r *run, _ func(context.Context) error) error {
		s.note(func() { reached[r.message] = true })
		return nil // what such a message does to the handler is no question here
	}
	spoilt := s.spoil()
	for _, sp := range spoilt {
		s.publish(sp.Message, sp.id)
	}
	s.settled()
	refused, accepted := 0, []string{}
	for _, sp := range spoilt {
		e := s.finally(sp.id)
		s.mu.Lock()
		ran := reached[sp.id]
		s.mu.Unlock()
		var broken error
		if s.contract != nil {
			broken = s.contract(sp.body(s.T))
		}
		switch {
		case ran && broken != nil:
			s.Errorf("%s: the handler was called, although the contract says: %v", sp.what, broken)
		case ran && e.outcome.Kind == idem.Done:
			accepted = append(accepted, sp.what)
		case ran:
			s.Errorf("%s: the handler was called, and the message ended as %q (error: %v)", sp.what, e.outcome.Kind, e.err)
		case s.contract != nil && broken == nil && sp.json:
			s.Errorf("%s: the message was refused, although the contract accepts it (error: %v)", sp.what, e.err)
		default:
			refused++
			s.wantLetter(sp.id, idem.DeadLetterParked, sp.what, idem.ReasonInvalid, idem.ReasonUndecodable)
		}
	}
	if len(accepted) == 0 {
		accepted = []string{"none"}
	}
	s.Logf("the contract refuses %d of %d spoilt messages; those that it accepts: %s", refused, len(spoilt), strings.Join(accepted, ", "))
}

// spoilt is a message with one thing wrong.
type spoilt struct {
	Message
	id, what string
	json     bool // the payload is still JSON, so that the key can be read
}

// spoil makes every spoilt message, each from a sample of its own.
func (s *stage) spoil() (out []spoilt) {
	n := 0
	next := func() Message { n++; return s.sample(100 + n) }
	add := func(what string, json bool, change func(Message) []byte) {
		m := next()
		m.Payload = change(m)
		out = append(out, spoilt{m, fmt.Sprintf("spoilt-%d", n), what, json})
	}
	add("the payload is not JSON", false, func(m Message) []byte { return []byte("{" + string(m.body(s.T))) })
	members, ok := s.members(s.sample(0))
	if !ok {
		return out
	}
	inKey := s.keyMembers()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if inKey[name] {
			continue
		}
		add(fmt.Sprintf("member %q is missing", name), true, func(m Message) []byte { return s.without(m, name, nil) })
		other := otherType(members[name])
		add(fmt.Sprintf("member %q is %s", name, other), true, func(m Message) []byte { return s.without(m, name, other) })
	}
	return out
}

func (s *stage) members(m Message) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(m.body(s.T), &members)
	return members, err == nil && members != nil
}

// without is m's payload with the member replaced, or left out.
func (s *stage) without(m Message, name string, value json.RawMessage) []byte {
	members, ok := s.members(m)
	if !ok {
		s.Fatal("Sample returns JSON objects for some n and something else for others")
	}
	delete(members, name)
	if value != nil {
		members[name] = value
	}
	b, err := json.Marshal(members)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// keyMembers are the members that a key is made of, under any recipe.
func (s *stage) keyMembers() map[string]bool {
	in := map[string]bool{}
	for _, recipe := range append([]idem.KeyRecipe{s.op.Key}, s.op.Key.Previous...) {
		for _, part := range recipe.Parts {
			first, _, _ := strings.Cut(strings.TrimPrefix(part.Pointer, "/"), "/")
			in[strings.NewReplacer("~1", "/", "~0", "~").Replace(first)] = true
		}
	}
	return in
}

// otherType is a value of another type than the given one has.
func otherType(value json.RawMessage) json.RawMessage {
	switch value = bytes.TrimSpace(value); {
	case len(value) > 0 && (value[0] == '"' || value[0] == 'n'):
		return json.RawMessage(`{}`)
	default:
		return json.RawMessage(`"idemtest"`)
	}
}

// expiry: within its retention a key is remembered, afterwards it is forgotten,
// and the handler runs again. What it would do then is not asked: the business
// tables may know better.
func (s *stage) expiry() {
	for retention := 300 * time.Millisecond; !s.expires(retention); retention *= 4 {
		// This machine was too slow for so short a time: nothing can be said.
		s = newStage(s.T, s.subject)
	}
}

// expires reports whether it could be judged that a key is remembered for as
// long as it must be.
func (s *stage) expires(retention time.Duration) bool {
	s.op.Retention = retention
	s.fault = func(ctx context.Context, r *run, work func(context.Context) error) error {
		if r.message == "a-3" {
			return nil
		}
		return work(ctx)
	}
	m := s.sample(0)
	s.start()
	begun := time.Now()
	s.deliver(m, "a-1")
	s.deliver(m, "a-2")
	if time.Since(begun) >= retention {
		return false
	}
	s.wantKind("a-1", idem.Done, "the message was delivered")
	s.wantKind("a-2", idem.Duplicate, fmt.Sprintf("the message came again within its retention of %v", retention))
	s.wantRuns(s.main(), "a-1", 1, "the message came again within its retention")
	s.wantEffect(m, 1, "the message came again within its retention", meaning{missing: meansLost, extra: meansKey})
	if s.Failed() {
		return true
	}
	s.untilForgotten("a-1")
	s.deliver(m, "a-3")
	s.wantKind("a-3", idem.Done, "the message came after its key was forgotten: the handler is to run again")
	return true
}

// untilForgotten waits until the store holds nothing under the message's key.
func (s *stage) untilForgotten(id string) {
	s.Helper()
	key := s.key(id)
	deadline, tick := time.NewTimer(patience), time.NewTicker(20*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	back := errors.New("look only")
	for {
		var rec idem.Record
		err := s.world.parts.Store.Do(s.Context(), func(tx idem.Tx) (err error) {
			rec, err = tx.Claim(s.Context(), idem.Claim{Consumer: s.op.Name, Key: key, Token: "idemtest", Retention: time.Minute})
			if err != nil {
				return err
			}
			return back
		})
		switch {
		case !errors.Is(err, back):
			s.Fatalf("looking for the key failed: %v", err)
		case rec.Status == idem.StatusNew:
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			s.Fatalf("the key is still remembered %v after the message, its retention is %v", patience, s.op.Retention)
		}
	}
}
