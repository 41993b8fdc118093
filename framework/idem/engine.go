package idem

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Engine runs consumers against one store. Make it with [NewEngine]; safe for
// concurrent use.
type Engine struct {
	// Store holds records, outbox and dead letters.
	Store Store
	// Transport is the broker; nil when the messages come from a foreign subscriber.
	Transport Transport
	// Classifier tells whose fault an error is; the zero value has the defaults.
	Classifier Classifier
	// Logger is never nil.
	Logger *slog.Logger
	// TopicPrefix begins the broker's name of each topic that handlers emit to;
	// see [Config.TopicPrefix]. Set it before the first message.
	TopicPrefix string
	// Step is told of every step of a message; nil is none. Set it before the
	// first message.
	Step StepFunc

	ackInTx bool
	hard    context.Context // ends when in-flight work must stop
	stop    context.CancelCauseFunc
}

// maxMessageBytes is the transport's bound of a message, 0 if unknown.
func (e *Engine) maxMessageBytes() int {
	if e.Transport == nil {
		return 0
	}
	return e.Transport.Capabilities().MaxMessageBytes
}

// NewEngine returns an engine. Transport may be nil; a nil logger means
// slog.Default().
func NewEngine(store Store, transport Transport, classifier Classifier, logger *slog.Logger) (*Engine, error) {
	if store == nil {
		return nil, errors.New("idem: engine: store is nil")
	}
	if logger == nil {
		logger = slog.Default()
	}
	e := &Engine{Store: store, Transport: transport, Classifier: classifier, Logger: logger}
	e.hard, e.stop = context.WithCancelCause(context.Background())
	if transport != nil {
		db := transport.Capabilities().Database
		e.ackInTx = db != "" && db == store.Database()
	}
	return e, nil
}

// Work derives the context in which a message is processed: it keeps the
// values of the message's context but not its end, since routers cancel it as
// soon as they close. It is cancelled with cause [ErrLeaseLost] or
// [ErrShuttingDown] only when the work must stop now.
func (e *Engine) Work(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stopLease := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, ErrLeaseLost) || errors.Is(cause, ErrShuttingDown) {
			cancel(cause)
		}
	})
	stopHard := context.AfterFunc(e.hard, func() { cancel(ErrShuttingDown) })
	return work, func() { stopLease(); stopHard(); cancel(context.Canceled) }
}

// Classify is the class of an error that processing in ctx ended with: what
// fails because we stop is never the message's fault, whatever it looks like.
func (e *Engine) Classify(ctx context.Context, err error) Class {
	if err == nil {
		return ClassNone
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrShuttingDown) || errors.Is(cause, ErrLeaseLost) {
		return ClassShutdown
	}
	class := e.Classifier.Classify(err)
	if class == ClassShutdown { // somebody else's shutdown: giving back at once would spin
		return ClassUnavailable
	}
	return class
}

// Process is the idempotency stage: claim the key, run the handler, commit.
// It returns nil when the effect is committed now or was before; the attempt
// tells which. Every other end is an error, and then nothing is left behind in
// the database but what an external call must remember.
func (c *Consumer) Process(msg *message.Message) error {
	a := c.Attempt(msg)
	if a.Skipped {
		return nil
	}
	if a.readErr != nil {
		return a.readErr
	}
	if err := c.checkDeliveries(a); err != nil {
		return err
	}
	var err error
	switch {
	case c.ext != nil:
		err = c.processExternal(msg.Context(), a)
	case c.group != nil:
		err = c.group.process(msg.Context(), a)
	default:
		err = c.processOwn(msg.Context(), a)
	}
	if errors.Is(err, errDuplicate) {
		a.Duplicate = true
		return nil
	}
	return err
}

// checkDeliveries parks a message that was delivered again and again without
// an outcome: most likely it kills the process that handles it.
func (c *Consumer) checkDeliveries(a *Attempt) error {
	limit := c.Policy.MaxDeliveries
	if a.Delivery == nil || limit < 0 || a.Delivery.Attempt <= limit {
		return nil
	}
	a.reason = ReasonDeliveryLimit
	return Permanent(fmt.Errorf("idem: delivered %d times without an outcome (limit %d)", a.Delivery.Attempt, limit))
}

func (c *Consumer) processOwn(ctx context.Context, a *Attempt) error {
	token := newToken()
	ran := false
	err := c.engine.Store.Do(ctx, func(tx Tx) error {
		h, err := a.hold(ctx, tx, token)
		if err != nil {
			return storeError("claim", err)
		}
		if err := a.admit(h); err != nil {
			return err
		}
		a.Reached(ctx, StepClaimed)
		u := &unit{tx: tx, a: a}
		if err := c.runHandler(ctx, a, func() error {
			return c.run(context.WithValue(ctx, unitKey{}, u), a.info(u), a.payload)
		}); err != nil {
			return err
		}
		ran = true
		return c.finish(ctx, u, h, Update{Status: StatusDone, Attempts: a.Prior + a.Runs + 1})
	})
	if errors.Is(err, ErrUnknownCommit) {
		err = c.resolve(ctx, a, token, err)
	}
	if err == nil {
		a.Reached(ctx, StepCommitted)
	}
	if ran {
		return c.afterRun(ctx, a, err)
	}
	return err
}

// afterRun counts a run that ended well but did not commit, when that is the
// message's fault or the handler's: too late, a statement whose error was
// swallowed, a constraint or trigger that refused the COMMIT. Without counting
// it would run for ever.
func (c *Consumer) afterRun(ctx context.Context, a *Attempt, err error) error {
	if err == nil || errors.Is(err, errDuplicate) {
		return err
	}
	switch class := c.engine.Classify(ctx, err); {
	case class == ClassShutdown:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = Transient(fmt.Errorf("idem: handler was not done within %v: %w", c.Policy.Timeout, err))
	case class == ClassUnavailable && refusedByDatabase(err):
		err = Transient(err)
	case class != ClassTransient && class != ClassBug:
		return err
	}
	a.Runs++
	return err
}

// refusedByDatabase reports a SQLSTATE that says no to this transaction, not
// that the database is in trouble.
func refusedByDatabase(err error) bool {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) || len(state.SQLState()) < 2 {
		return false
	}
	switch state.SQLState()[:2] {
	case "08", "40", "53", "55", "57", "58":
		return false
	}
	return true
}

// admit decides from the record whether the handler may run.
func (a *Attempt) admit(h *held) error {
	rec := h.Record
	a.Cause = ""
	if h.reused {
		a.Cause = CauseKeyReuse
		return a.keyReuse()
	}
	if rec.Status == StatusDone && a.void != "" && rec.Token == a.void {
		a.Prior = 0 // marked, and committed by a neighbour's handler, but never run
		return nil
	}
	switch rec.Status {
	case StatusDone, StatusDead, StatusDiscarded:
		a.Cause = a.causeOf(rec)
		return errDuplicate
	}
	a.Prior = rec.Attempts
	return nil
}

// keyReuse is what a message ends with whose key is another one's.
func (a *Attempt) keyReuse() error {
	a.reason = ReasonKeyReuse
	err := fmt.Errorf("%w: key was first used by another message", ErrKeyReuse)
	if a.Consumer.OnKeyReuse == ReuseDiscards {
		return Ignore(err)
	}
	return Permanent(err)
}

// runHandler runs f and counts the run if its fault is the message's. A panic
// or Goexit passes through and is counted by whoever recovers it.
func (c *Consumer) runHandler(ctx context.Context, a *Attempt, f func() error) error {
	returned := false
	defer func() {
		if !returned {
			a.Runs++
		}
	}()
	err := f()
	returned = true
	class := c.engine.Classify(ctx, err)
	if class == ClassUnavailable && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// The handler's own time-out, however a driver words it.
		class, err = ClassTransient, Transient(fmt.Errorf("idem: handler was not done within %v: %w", c.Policy.Timeout, err))
	}
	if class == ClassTransient || class == ClassBug {
		a.Runs++
	}
	return err
}

// finish writes everything that commits together with the effect.
func (c *Consumer) finish(ctx context.Context, u *unit, h *held, up Update) error {
	u.a.Reached(ctx, StepEffectWritten)
	if out := u.close(); len(out) > 0 {
		if err := u.tx.Emit(ctx, out...); err != nil {
			return storeError("emit", err)
		}
		u.a.Reached(ctx, StepOutboxWritten)
	}
	if err := h.save(ctx, up); err != nil {
		return storeError("save", err)
	}
	if c.engine.ackInTx && u.a.Delivery != nil && u.a.Delivery.AckTx != nil {
		// Without its lease the message is delivered again, and then a duplicate.
		if err := u.a.Delivery.AckTx(ctx, u.tx.Native()); err != nil && !errors.Is(err, ErrLeaseLost) {
			return storeError("ack", err)
		}
	}
	u.a.Reached(ctx, StepCommitting)
	return nil
}

// resolveTimeout bounds the read-back of an unknown commit.
const resolveTimeout = 10 * time.Second

// resolve finds out whether a commit whose answer was lost took effect, by
// claiming the key again (which waits for the old connection to end) and
// comparing tokens. It never guesses: when it cannot find out, the message is
// redelivered and the claim will tell then.
func (c *Consumer) resolve(ctx context.Context, a *Attempt, token string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel() // the deadline that broke the commit must not break the read-back
	var now *held
	for try := 1; ; try++ {
		err := c.engine.Store.Do(ctx, func(tx Tx) error {
			var err error
			if now, err = a.hold(ctx, tx, token); err != nil {
				return err
			}
			return errRollback
		})
		if errors.Is(err, errRollback) {
			break
		}
		if try == 5 || !sleep(ctx, Jitter(100*time.Millisecond<<try, rand.Float64())) {
			return fmt.Errorf("%w (read-back failed: %s)", cause, Summary(err))
		}
	}
	switch {
	case now.Status == StatusDone && now.Token == token:
		return nil
	case now.Status == StatusDone && !now.reused:
		a.Cause = a.causeOf(now.Record)
		return errDuplicate
	default:
		return fmt.Errorf("%w: commit did not take effect: %s", ErrStore, Summary(cause))
	}
}

// The engine's own words to itself; unexported, so that no handler can say them.
var (
	errRollback  = errors.New("idem: roll back")
	errDuplicate = errors.New("idem: duplicate of a processed key")
)

// storeError marks a failure of the store, keeping the sentinels that say more.
func storeError(what string, err error) error {
	if errors.Is(err, ErrInFlight) || errors.Is(err, ErrStore) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrStore, what, err)
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
