package idem

import "context"

// Step names a point on the path of a message. What has happened at each is
// exact, so that a process which ends there tells what must survive.
type Step string

// The steps, in the order in which a message passes them. A message passes
// those that concern it only: one that is a duplicate is received and acked.
const (
	// StepReceived: the transport has handed the message over; nothing is done yet.
	StepReceived Step = "received"
	// StepClaimed: the transaction is open and owns the key's record.
	StepClaimed Step = "claimed"
	// StepDecoded: the payload is decoded and valid; the handler has not run.
	StepDecoded Step = "decoded"
	// StepIntentRecorded: that an external call is about to begin is committed.
	StepIntentRecorded Step = "intent-recorded"
	// StepCalled: the external call has returned without an error; nothing of
	// that is recorded.
	StepCalled Step = "called"
	// StepEffectWritten: the handler (or Apply) has returned without an error;
	// its writes are in the open transaction.
	StepEffectWritten Step = "effect-written"
	// StepOutboxWritten: so are the events that it emitted; passed if there are any.
	StepOutboxWritten Step = "outbox-written"
	// StepCommitting: the transaction is complete, COMMIT is the next thing.
	StepCommitting Step = "committing"
	// StepCommitted: the effect is durable, known from COMMIT or read back.
	StepCommitted Step = "committed"
	// StepRetryStored: a failed attempt is durable, with the copy for the
	// retry topic if it comes back through the outbox.
	StepRetryStored Step = "retry-stored"
	// StepDeadLetterStored: the dead letter (or audited discard) is durable.
	StepDeadLetterStored Step = "dead-letter-stored"
	// StepAcking, StepGivingBack: the transport is about to be told.
	StepAcking     Step = "acking"
	StepGivingBack Step = "giving-back"
	// StepAcked: the broker has removed the message for this consumer (offset
	// committed, row deleted) and has said so. Told by transports of idem.
	StepAcked Step = "acked"
	// StepGivenBack: the message is free to be delivered again. On brokers
	// where it stays with the process, that one keeps it for later.
	StepGivenBack Step = "given-back"
	// StepRelayLeased, StepRelayPublished, StepRelayMarked: a relay has leased
	// a row of the outbox; the broker has confirmed it; the row is removed.
	StepRelayLeased    Step = "relay-leased"
	StepRelayPublished Step = "relay-published"
	StepRelayMarked    Step = "relay-marked"
)

// Steps returns all steps in the order of the path.
func Steps() []Step {
	return []Step{
		StepReceived, StepClaimed, StepDecoded, StepIntentRecorded, StepCalled, StepEffectWritten, StepOutboxWritten,
		StepCommitting, StepCommitted, StepRetryStored, StepDeadLetterStored, StepAcking, StepGivingBack, StepAcked,
		StepGivenBack, StepRelayLeased, StepRelayPublished, StepRelayMarked,
	}
}

// StepEvent is a message that has reached a step.
type StepEvent struct {
	Step Step
	// Consumer is empty at the steps of the relay.
	Consumer string
	// Topic and MessageID are those of the first delivery where the engine
	// tells (it knows them from a retried message's headers), else of this one.
	Topic, MessageID string
	// Key is the idempotency key, Position the place in the topic; empty where
	// they are not known, as at the relay.
	Key, Position string
}

// StepFunc is told of every step of every message, for tracing and for proofs.
// It is called in the goroutine that works on the message, which waits for it,
// so it must be quick; and by many at once. The context is the work's own, with
// its [AttemptFrom] or [DeliveryFrom]; after the work has ended it may be
// cancelled. A nil StepFunc costs nothing.
type StepFunc func(ctx context.Context, e StepEvent)

// Reached tells of a step of this attempt; for middlewares. A nil attempt has
// nothing to tell.
func (a *Attempt) Reached(ctx context.Context, s Step) {
	if a == nil || a.Consumer.engine.Step == nil {
		return
	}
	a.Consumer.engine.Step(ctx, StepEvent{
		Step: s, Consumer: a.Consumer.Name, Topic: a.Topic, MessageID: a.MessageID, Key: a.Key, Position: a.Position,
	})
}

// stepsOf is what the transport of one consumer is given.
func (e *Engine) stepsOf(consumer string) StepFunc {
	if e.Step == nil {
		return nil
	}
	return func(ctx context.Context, event StepEvent) {
		event.Consumer = consumer
		e.Step(ctx, event)
	}
}
