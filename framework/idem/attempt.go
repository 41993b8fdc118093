package idem

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Attempt is the state of one delivery on its way through the chain: made by
// the outermost middleware, read and completed by the others. It is used by
// one goroutine at a time.
type Attempt struct {
	Consumer *Consumer
	// Delivery is nil for a message from a foreign subscriber.
	Delivery *Delivery
	// Key and Fingerprint are set once the message was read; Key is "" when
	// there is none. When it is found to have been processed under an older
	// recipe, the key becomes that recipe's.
	Key, Fingerprint string
	// MessageID, Topic, Position and EnqueuedAt describe the first delivery.
	MessageID, Topic, Position string
	EnqueuedAt                 time.Time
	// Prior and Runs count handler runs with a fault of the message: recorded
	// by earlier deliveries, and in this one.
	Prior, Runs int
	// Duplicate: the key was completed before; the handler did not run.
	Duplicate bool
	// Cause is why it is a duplicate, or came with a key that is another
	// message's; "" otherwise.
	Cause Cause
	// Skipped: the message is for other consumers; see [Operation].Others.
	Skipped bool
	// Outcome, Class and Err are how it ended; set by the settling middleware.
	Outcome Outcome
	Class   Class
	Err     error

	envelope Envelope
	payload  []byte
	replays  int
	edited   bool   // the payload was changed by hand: the fingerprint is the original's
	readErr  error  // why the message has no key or payload
	reason   string // dead-letter reason that goes with an error found before the handler ran
	doc      *jsonDoc

	keys []messageKey // the one it came back with, then those of the recipes, newest first

	token     string // of this attempt's claim
	void      string // token of a shared transaction that did not run it, whatever the record says
	result    []byte // what an external call returned, until Apply has committed
	unsettled bool   // an external call began and its outcome is unknown
}

// messageKey is one of the keys that a message has.
type messageKey struct {
	text string
	// fingerprint of the content as whoever goes by this key takes it.
	fingerprint string
	recipe      *Fingerprint // nil: the operation's
}

type attemptKey struct{}

// AttemptFrom returns the attempt of a message's context, or nil.
func AttemptFrom(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// Attempt returns the attempt in the message's context, after making one and
// putting it there if there is none.
func (c *Consumer) Attempt(msg *message.Message) *Attempt {
	if a := AttemptFrom(msg.Context()); a != nil {
		return a
	}
	a := &Attempt{Consumer: c, MessageID: msg.UUID, Topic: c.Topic, payload: msg.Payload}
	if d, ok := DeliveryFrom(msg.Context()); ok {
		a.Delivery, a.envelope = d, d.Envelope
		a.Topic, a.Position, a.EnqueuedAt = d.Topic, d.Position, d.EnqueuedAt
	} else {
		a.envelope = EnvelopeOf(msg)
		if topic := message.SubscribeTopicFromCtx(msg.Context()); topic != "" {
			a.Topic = topic
		}
	}
	a.doc = newDoc(a.payload)
	if a.Topic == a.Consumer.RetryTopic() {
		a.readOrigin()
	} else {
		a.Skipped = c.Others.match(a.envelope.Headers, a.doc)
	}
	if !a.Skipped {
		a.read()
	}
	msg.SetContext(context.WithValue(msg.Context(), attemptKey{}, a))
	a.Reached(msg.Context(), StepReceived)
	return a
}

// readOrigin restores what the first delivery was, for a message that came
// back through the consumer's retry topic.
func (a *Attempt) readOrigin() {
	a.Position, a.EnqueuedAt = "", time.Time{}
	h := a.envelope.Headers
	if text, ok := headerValue(h, headerKey); ok {
		if key, ok := decodeKeyHeader(text); ok {
			a.Key = key
		}
	}
	if text, ok := headerValue(h, headerFingerprint); ok {
		a.Fingerprint, a.edited = decodeKeyHeader(text)
	}
	if v, ok := headerValue(h, headerMessageID); ok {
		a.MessageID = v
	}
	if v, ok := headerValue(h, headerOriginTopic); ok {
		a.Topic = v
	}
	if v, ok := headerValue(h, headerOriginPos); ok {
		a.Position = v
	}
	if v, ok := headerValue(h, headerEnqueuedAt); ok {
		a.EnqueuedAt, _ = time.Parse(time.RFC3339Nano, v)
	}
	if v, ok := headerValue(h, headerReplays); ok {
		a.replays, _ = strconv.Atoi(v)
	}
}

// read finds key and fingerprint. What is wrong is kept as a value: it is
// settled like any other failure, with the whole message at hand.
func (a *Attempt) read() {
	op := a.Consumer.Operation
	a.readKeys()
	if a.readErr != nil {
		return
	}
	if a.edited { // it stays the message that it was
		for i := range a.keys {
			a.keys[i].fingerprint = a.Fingerprint
		}
		_, err := op.Fingerprint.of(a.payload, a.doc)
		a.undecodable(err)
		return
	}
	var err error
	a.Fingerprint, err = a.fingerprint(op.Fingerprint)
	a.undecodable(err)
	for i := range a.keys {
		k := &a.keys[i]
		if k.fingerprint = a.Fingerprint; k.recipe != nil {
			k.fingerprint, _ = a.fingerprint(*k.recipe) // what an older program could not read matters no more
		}
	}
}

func (a *Attempt) fingerprint(f Fingerprint) (string, error) {
	text, err := f.of(a.payload, a.doc)
	if err != nil {
		// Never "", which would pass for any other message with this key.
		return "raw:" + deriveID(string(a.payload)), err
	}
	return text, nil
}

func (a *Attempt) undecodable(err error) {
	if err != nil {
		a.readErr, a.reason = Invalid(err), ReasonUndecodable
	}
}

// readKeys finds the key under each recipe. Only the current one's must be
// there, and not even that if the message came back with a key.
func (a *Attempt) readKeys() {
	current := a.Consumer.Operation.Key
	cameBack := a.Key != ""
	if cameBack {
		a.keys = append(a.keys, messageKey{text: a.Key})
	}
	for i, recipe := range append([]KeyRecipe{current}, current.Previous...) {
		key, err := recipe.extract(a.envelope.Headers, a.doc)
		if err != nil && i == 0 && !cameBack {
			if a.noKey(err); a.readErr != nil {
				return
			}
			key = a.Key
		} else if err != nil && !errors.Is(err, errNotJSON) {
			key = a.derivedKey(recipe.Version)
		}
		if key == "" {
			continue
		}
		found := messageKey{text: key, recipe: recipe.Fingerprint}
		if n := slices.IndexFunc(a.keys, func(k messageKey) bool { return k.text == key }); n >= 0 {
			a.keys[n] = found
		} else {
			a.keys = append(a.keys, found)
		}
	}
	a.Key = a.keys[0].text
}

// derivedMark tells derived keys from composite ones of the producer.
const derivedMark = "idem:derived"

// noKey applies the missing-key policy. It never makes up a key that another
// delivery of the same message would not have.
func (a *Attempt) noKey(err error) {
	op := a.Consumer.Operation
	switch {
	case errors.Is(err, errNotJSON):
		a.readErr, a.reason = Invalid(err), ReasonUndecodable
	case op.OnMissingKey == MissingFails:
		a.readErr = Bug(err)
	default:
		if a.Key = a.derivedKey(op.Key.Version); a.Key == "" {
			a.readErr, a.reason = Invalid(err), ReasonMissingKey
		}
	}
}

// derivedKey is the key of a message that has none of its producer, "" if the
// policy is another one or there is nothing to derive it from.
func (a *Attempt) derivedKey(version int) string {
	switch {
	case a.Consumer.OnMissingKey != MissingDerives:
		return ""
	case a.MessageID != "":
		return encodeKey(version, derivedMark, "message", a.MessageID)
	case a.Position != "":
		return encodeKey(version, derivedMark, "position", a.Topic, a.Position)
	}
	return ""
}

// info is what a handler run in a unit of work sees; nil is none.
func (a *Attempt) info(u *unit) Info {
	return Info{
		Consumer: a.Consumer.Name, Key: a.Key, ID: a.MessageID, Topic: a.Topic, Position: a.Position,
		Attempt: a.Prior + a.Runs + 1, EnqueuedAt: a.EnqueuedAt,
		headers: userHeaders(a.envelope.Headers), key: a.envelope.Key, unit: u,
	}
}

// claim names the attempt's record of one of its keys.
func (a *Attempt) claim(key messageKey, token string) Claim {
	return Claim{
		Consumer: a.Consumer.Name, Key: key.text, Fingerprint: key.fingerprint, Token: token,
		MessageID: bounded(a.MessageID, maxRecordID), Source: a.source(), Retention: a.Consumer.Retention,
	}
}

// Unreadable reports whether the message has no usable key or payload, which
// no further attempt can change.
func (a *Attempt) Unreadable() bool { return a.readErr != nil }

// Unsettled reports whether an external call began and its outcome is unknown.
func (a *Attempt) Unsettled() bool { return a.unsettled }

// LogFields returns the values of the operation's LogFields, in the order of
// their names, as alternating names and values.
func (a *Attempt) LogFields() []any {
	var out []any
	for _, name := range sortedKeys(a.Consumer.Operation.LogFields) {
		if v, kind := a.doc.lookup(a.Consumer.Operation.LogFields[name]); kind.scalar() {
			out = append(out, name, bounded(v, 120))
		}
	}
	return out
}

func newToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// Summary is an error's text made safe to store and log: valid UTF-8 without
// control characters, at most 512 bytes.
func Summary(err error) string {
	if err == nil {
		return ""
	}
	return bounded(errorText(err), 512)
}

// errorText survives error values whose Error method panics (a nil pointer
// behind a non-nil interface).
func errorText(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = fmt.Sprintf("error of type %T", err)
		}
	}()
	return err.Error()
}

func bounded(s string, n int) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), 4*n)], "\uFFFD"))
	if len(clean) <= n {
		return clean
	}
	return strings.ToValidUTF8(clean[:n-len("…")], "") + "…"
}
