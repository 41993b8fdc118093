package idem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// unit is the unit of work that a handler's context carries.
type unit struct {
	tx Tx
	a  *Attempt // nil in the context of a batch handler, where it is many

	mu     sync.Mutex // a handler may emit from several goroutines
	out    []Outgoing
	closed bool
}

// close returns what was emitted; nothing can be emitted after it.
func (u *unit) close() []Outgoing {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	return u.out
}

type unitKey struct{}

func unitFrom(ctx context.Context) *unit {
	u, _ := ctx.Value(unitKey{}).(*unit)
	return u
}

// NativeTx returns the driver's transaction of the unit of work in ctx, or nil
// outside a handler. Handlers use the typed form of their store's package.
func NativeTx(ctx context.Context) any {
	if u := unitFrom(ctx); u != nil {
		return u.tx.Native()
	}
	return nil
}

// Event is a message that a handler emits.
type Event struct {
	// Topic is required. [Config.TopicPrefix] is put before it.
	Topic string
	// ID is the message id. "" derives it from consumer, key, topic, place
	// among the events and payload, so that a repetition has it again.
	ID string
	// Key is the ordering key. Nil takes the key of the message being handled.
	Key []byte
	// Headers are sent as they are; names under [HeaderPrefix] are refused.
	Headers []Header
	// Payload is sent as it is if it is a []byte, else as JSON.
	Payload any
	// Delay is the least time between commit and publish. Later events of the
	// same topic and key wait behind a delayed one.
	Delay time.Duration
}

// Emit adds an event to the outbox of the unit of work in ctx: it is published
// after the commit, at least once, and not at all if the handler fails.
// Correlation and trace headers of the message being handled are passed on
// unless the event sets them.
func Emit(ctx context.Context, e Event) error {
	u := unitFrom(ctx)
	switch {
	case u == nil:
		return Bug(fmt.Errorf("idem: Emit to %q outside a unit of work: call it in Handle or Apply", e.Topic))
	case u.a == nil:
		return Bug(fmt.Errorf("idem: Emit to %q in HandleBatch: take the context from ItemContext, which says what message the event comes from", e.Topic))
	}
	op := u.a.Consumer.Operation
	topic := u.a.Consumer.engine.TopicPrefix + e.Topic
	if e.Topic == "" || !validName(topic) {
		return Bug(fmt.Errorf("idem: Emit: %q is not a topic name", topic))
	}
	if op.Emits != nil && !slices.Contains(op.Emits, topic) {
		return Bug(fmt.Errorf("idem: operation %q may not emit to %q: add it to Emits", op.Name, e.Topic))
	}
	body, ok := e.Payload.([]byte)
	if !ok {
		var err error
		if body, err = json.Marshal(e.Payload); err != nil {
			return Bug(fmt.Errorf("idem: Emit to %q: payload of type %T does not encode: %w", e.Topic, e.Payload, err))
		}
	}
	if len(userHeaders(e.Headers)) != len(e.Headers) {
		return Bug(fmt.Errorf("idem: Emit to %q: header names that begin with %q are reserved", e.Topic, HeaderPrefix))
	}
	if e.ID != bounded(e.ID, maxEventID) {
		return Bug(fmt.Errorf("idem: Emit to %q: an event's ID must be text of at most %d bytes without control characters", e.Topic, maxEventID))
	}
	out := Outgoing{ID: e.ID, Topic: topic, Key: e.Key, Headers: slices.Clone(e.Headers), Payload: body, Delay: e.Delay}
	if out.Key == nil {
		out.Key = u.a.envelope.Key
	}
	out.Headers = u.a.passOn(out.Headers)
	u.mu.Lock()
	defer u.mu.Unlock()
	if limit := u.a.Consumer.engine.maxMessageBytes(); limit > 0 && out.size() > limit {
		return Permanent(fmt.Errorf("idem: Emit to %q: the event has %d bytes, the transport takes %d: send a reference instead", e.Topic, out.size(), limit))
	}
	if u.closed {
		return Bug(fmt.Errorf("idem: Emit to %q after the handler has returned: the event would be lost", e.Topic))
	}
	if out.ID == "" { // the prefix is none of it: what other environments call a topic changes no id
		out.ID = deriveID("event", op.Name, u.a.Key, e.Topic, strconv.Itoa(len(u.out)), string(body))
	}
	for _, other := range u.out {
		if other.Topic == out.Topic && other.ID == out.ID {
			return Bug(fmt.Errorf("idem: Emit to %q: id %q is used twice: the second event would be taken for the first", e.Topic, out.ID))
		}
	}
	u.out = append(u.out, out)
	return nil
}

const maxEventID = 200

// size is what a transport counts of a message.
func (o Outgoing) size() int {
	n := len(o.ID) + len(o.Key) + len(o.Payload)
	for _, h := range o.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// passOn adds the headers that link an emitted event to its cause.
func (a *Attempt) passOn(headers []Header) []Header {
	add := func(name, value string) {
		if _, has := headerValue(headers, name); !has && value != "" {
			headers = append(headers, Header{Name: name, Value: []byte(value)})
		}
	}
	correlation, _ := headerValue(a.envelope.Headers, HeaderCorrelationID)
	if correlation == "" {
		correlation = a.MessageID
	}
	add(HeaderCorrelationID, correlation)
	add(HeaderCausationID, a.MessageID)
	for _, name := range []string{headerTraceParent, headerTraceState} {
		v, _ := headerValue(a.envelope.Headers, name)
		add(name, v)
	}
	return headers
}

// deriveID makes a message id from what identifies it; 128 bits of SHA-256
// over length-prefixed parts.
func deriveID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
