package idem

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Record makes the outcome of a failed attempt durable, in one transaction, so
// that the source may be acked or given back afterwards:
//
//   - Retry: the attempts so far and the error; with copyAfter ≥ 0 also an outbox
//     row that brings the message back on the consumer's retry topic after that
//     time (then the source is to be acked).
//   - Dead, Discard: the dead letter, the key's mark and the copy for the
//     dead-letter topic.
//   - Pause: the error; the attempts begin anew.
//
// The outcome it returns is Duplicate when another attempt completed the key
// meanwhile, and what the key-reuse policy says when a message with other
// content has taken it. Until it returns nil nothing has happened.
func (c *Consumer) Record(ctx context.Context, a *Attempt, o Outcome, cause error, copyAfter time.Duration) (Outcome, error) {
	o, err := c.record(ctx, a, o, cause, copyAfter)
	switch {
	case err != nil:
	case o.Kind == Dead, o.Kind == Discard:
		a.Reached(ctx, StepDeadLetterStored)
	case o.Kind != Duplicate && a.Key != "":
		a.Reached(ctx, StepRetryStored)
	}
	return o, err
}

func (c *Consumer) record(ctx context.Context, a *Attempt, o Outcome, cause error, copyAfter time.Duration) (Outcome, error) {
	givenUp := o.Kind == Dead || o.Kind == Discard
	if a.Key == "" && !givenUp { // nothing to remember it by
		if copyAfter >= 0 {
			return o, errors.New("idem: a message without a key cannot be retried by a copy")
		}
		return o, nil
	}
	if givenUp {
		o.Reason = a.reasonOf(o, cause)
	}
	if a.Key == "" {
		return o, c.parkApart(ctx, a, o, cause)
	}
	result := o
	err := c.engine.Store.Do(ctx, func(tx Tx) error {
		result = o
		h, err := a.hold(ctx, tx, newToken())
		if err != nil {
			return err
		}
		if err := a.notTakenOver(h.Record); err != nil {
			return err
		}
		switch err := a.admit(h); {
		case errors.Is(err, errDuplicate):
			result = Outcome{Kind: Duplicate}
			return errRollback // as nothing is to be written, the claims must leave nothing
		case err != nil:
			return errKeyTaken
		case givenUp:
			return c.giveUp(ctx, h, &result, cause)
		default:
			return c.postpone(ctx, h, o, cause, copyAfter)
		}
	})
	switch {
	case errors.Is(err, errRollback):
		return result, nil
	case !errors.Is(err, errKeyTaken):
		return result, err
	case !givenUp: // it could run when it was delivered: the key was taken meanwhile
		cause = a.keyReuse()
		o = Decide(c.engine.Classify(ctx, cause), 0, c.Policy)
		o.Reason = ReasonKeyReuse
	}
	return o, c.parkApart(ctx, a, o, cause)
}

// errKeyTaken: the record is another message's and stays as it is.
var errKeyTaken = errors.New("idem: key belongs to another message")

// reasonOf is the reason of a message that is given up.
func (a *Attempt) reasonOf(o Outcome, cause error) string {
	if undecodable := (*decodeError)(nil); errors.As(cause, &undecodable) {
		return ReasonUndecodable
	}
	if a.reason != "" && o.Kind == Dead || a.reason == ReasonKeyReuse {
		return a.reason
	}
	return o.Reason
}

func (c *Consumer) postpone(ctx context.Context, h *held, o Outcome, cause error, copyAfter time.Duration) error {
	a := h.attempt
	attempts := h.Attempts + a.Runs
	if o.Kind == Pause { // once the bug is mended the message has all its attempts again
		attempts = 0
	}
	if err := h.save(ctx, Update{
		Status: a.openStatus(h.Record), Attempts: attempts, LastError: Summary(cause), Result: a.knownResult(h.Record),
	}); err != nil {
		return err
	}
	if copyAfter >= 0 {
		return h.tx.Emit(ctx, a.retryCopy(attempts, copyAfter))
	}
	return nil
}

// knownResult is the result of an external call that must not be repeated.
func (a *Attempt) knownResult(rec Record) []byte {
	if a.result != nil {
		return a.result
	}
	return rec.Result
}

// notTakenOver returns [ErrInFlight] when another attempt's external call is
// under way: its record must not be touched.
func (a *Attempt) notTakenOver(rec Record) error {
	if rec.Status == StatusStarted && rec.LeaseLeft > 0 && rec.Token != a.token {
		return fmt.Errorf("%w: external call under way", ErrInFlight)
	}
	return nil
}

// unknownCall reports whether an external call may have had an effect that
// nobody has recorded.
func (a *Attempt) unknownCall(rec Record) bool {
	return a.knownResult(rec) == nil && (a.unsettled || rec.Status == StatusStarted)
}

// openStatus is the status of a record whose message will run again.
func (a *Attempt) openStatus(rec Record) Status {
	if a.unsettled || rec.Status == StatusStarted {
		return StatusStarted
	}
	return StatusPending
}

// giveUp marks the key and parks the message.
func (c *Consumer) giveUp(ctx context.Context, h *held, o *Outcome, cause error) error {
	a, status := h.attempt, StatusDead
	if o.Kind == Discard {
		status = StatusDiscarded
	} else if a.unknownCall(h.Record) {
		o.Reason = ReasonUnknownOutcome
	}
	if err := h.save(ctx, Update{
		Status: status, Attempts: h.Attempts + a.Runs, LastError: Summary(cause), Result: a.knownResult(h.Record),
	}); err != nil {
		return err
	}
	return c.park(ctx, h.tx, a, *o, cause, h.Record)
}

// parkApart parks a message that has no record.
func (c *Consumer) parkApart(ctx context.Context, a *Attempt, o Outcome, cause error) error {
	return c.engine.Store.Do(ctx, func(tx Tx) error { return c.park(ctx, tx, a, o, cause, Record{}) })
}

func (c *Consumer) park(ctx context.Context, tx Tx, a *Attempt, o Outcome, cause error, rec Record) error {
	state := DeadLetterParked
	if o.Kind == Discard {
		state = DeadLetterDiscarded
	}
	d := a.deadLetter(o.Reason, state, c.engine.Classify(ctx, cause), cause)
	d.Attempts, d.FirstFailed = rec.Attempts+a.Runs, rec.FirstFailed
	stored, err := tx.Park(ctx, d)
	if err != nil || !stored || o.Kind == Discard || c.DeadLetterTopic == NoDeadLetterTopic {
		return err
	}
	return tx.Emit(ctx, deadLetterCopy(d, c.DeadLetterTopic))
}

func (a *Attempt) deadLetter(reason string, state DeadLetterState, class Class, cause error) DeadLetter {
	correlation, _ := headerValue(a.envelope.Headers, HeaderCorrelationID)
	trace, _ := headerValue(a.envelope.Headers, headerTraceParent)
	identity := a.Key
	if identity == "" { // told apart by where it came from, and by content where the broker gives no id
		identity = deriveID(a.MessageID, a.Topic, string(a.payload))
		if a.MessageID == "" {
			identity = deriveID(a.Topic, a.Position)
		}
	}
	edits := 0
	if a.edited {
		edits = 1
	}
	return DeadLetter{
		ID:       deriveID("dead", a.Consumer.Name, identity, a.Fingerprint, strconv.Itoa(a.replays)),
		Consumer: a.Consumer.Name, Key: a.Key, Fingerprint: a.Fingerprint, State: state,
		Reason: reason, Class: class, Error: Summary(cause), Attempts: a.Prior + a.Runs,
		MessageID: a.MessageID, Topic: a.Topic, Position: a.Position, EnqueuedAt: a.EnqueuedAt,
		CorrelationID: bounded(correlation, 200), TraceParent: bounded(trace, 100),
		Envelope: Envelope{Key: a.envelope.Key, Headers: userHeaders(a.envelope.Headers)},
		Payload:  a.payload, Replays: a.replays, Edits: edits,
	}
}

// retryCopy brings the message back to this consumer alone.
func (a *Attempt) retryCopy(attempts int, after time.Duration) Outgoing {
	return comeBack(a.deadLetter("", "", ClassNone, nil),
		deriveID("retry", a.Consumer.Name, a.Key, strconv.Itoa(attempts), newToken()), after)
}

// ReplayOf returns the message that brings a dead letter back to its consumer
// under the same idempotency key.
func ReplayOf(d DeadLetter) Outgoing {
	d.Replays++
	return comeBack(d, deriveID("replay", d.ID, strconv.Itoa(d.Replays)), 0)
}

func comeBack(d DeadLetter, id string, after time.Duration) Outgoing {
	h := ownHeaders{list: userHeaders(d.Envelope.Headers)}
	if d.Key != "" {
		h.add(headerKey, encodeKeyHeader(d.Key))
	}
	if d.Key != "" && d.Edits > 0 && d.Fingerprint != "" { // it stays the same message, whatever its content is now
		h.add(headerFingerprint, encodeKeyHeader(d.Fingerprint))
	}
	h.add(headerMessageID, d.MessageID)
	h.add(headerOriginTopic, d.Topic)
	h.add(headerOriginPos, d.Position)
	h.addTime(headerEnqueuedAt, d.EnqueuedAt)
	if d.Replays > 0 {
		h.add(headerReplays, strconv.Itoa(d.Replays))
	}
	op := Operation{Name: d.Consumer, Topic: d.Topic}
	return Outgoing{ID: id, Topic: op.RetryTopic(), Key: d.Envelope.Key, Headers: h.list, Payload: d.Payload, Delay: after}
}

// deadLetterCopy is what the dead-letter topic gets: the message as it was and
// our bounded headers.
func deadLetterCopy(d DeadLetter, topic string) Outgoing {
	h := ownHeaders{list: userHeaders(d.Envelope.Headers)}
	h.add(headerDeadLetterID, d.ID)
	h.add(headerReason, d.Reason)
	h.add(headerClass, string(d.Class))
	h.add(headerError, bounded(d.Error, 256))
	h.add(headerAttempts, strconv.Itoa(d.Attempts))
	h.add(headerConsumer, d.Consumer)
	h.add(headerMessageID, d.MessageID)
	h.add(headerOriginTopic, d.Topic)
	h.add(headerOriginPos, d.Position)
	h.addTime(headerFirstFailed, d.FirstFailed)
	h.addTime(headerLastFailed, d.LastFailed)
	if d.Replays > 0 {
		h.add(headerReplays, strconv.Itoa(d.Replays))
	}
	return Outgoing{ID: d.ID, Topic: topic, Key: d.Envelope.Key, Headers: h.list, Payload: d.Payload}
}

// ownHeaders builds idem's headers; each value is at most 400 bytes, so that
// all of them together stay far below any broker's limit.
type ownHeaders struct{ list []Header }

func (h *ownHeaders) add(name, value string) {
	if value != "" {
		h.list = append(h.list, Header{Name: name, Value: []byte(bounded(value, 400))})
	}
}

func (h *ownHeaders) addTime(name string, t time.Time) {
	if !t.IsZero() {
		h.add(name, t.UTC().Format(time.RFC3339Nano))
	}
}

// checkTopics refuses dead-letter topics that feed back into a consumer.
func checkTopics(consumers []*Consumer) error {
	var errs fieldErrors
	next := map[string][]string{} // topic → dead-letter topics of its consumers
	for _, c := range consumers {
		if c.DeadLetterTopic != NoDeadLetterTopic {
			next[c.Topic] = append(next[c.Topic], c.DeadLetterTopic)
		}
	}
	for _, c := range consumers {
		seen := map[string]bool{}
		var walk func(topic string) bool
		walk = func(topic string) bool {
			if topic == c.Topic {
				return true
			}
			if seen[topic] {
				return false
			}
			seen[topic] = true
			for _, t := range next[topic] {
				if walk(t) {
					return true
				}
			}
			return false
		}
		if c.DeadLetterTopic != NoDeadLetterTopic && walk(c.DeadLetterTopic) {
			errs = append(errs, fmt.Errorf("operation %q: dead letters of topic %q come back to it through %q: choose a deadLetterTopic that no consumer of this chain reads", c.Name, c.Topic, c.DeadLetterTopic))
		}
	}
	return errs.join()
}
