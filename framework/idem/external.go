package idem

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// external holds the three steps of an [External], free of its type parameters.
type external struct {
	call      func(ctx context.Context, info Info, payload []byte) ([]byte, error)
	apply     func(ctx context.Context, info Info, payload, result []byte) error
	reconcile func(ctx context.Context, info Info, payload []byte) ([]byte, CallOutcome, error)
}

// leaseGrace is what a started record's lease has beyond the handler's time-out.
const leaseGrace = 5 * time.Second

// processExternal runs the steps. What is in the record says where an earlier
// attempt stopped:
//
//	new, pending            call may run
//	started, lease left     another attempt is at it
//	started, no result      the call's outcome is unknown: reconcile
//	started, with a result  the call succeeded, only Apply is missing
func (c *Consumer) processExternal(ctx context.Context, a *Attempt) error {
	token := newToken()
	a.token = token
	rec, err := c.begin(ctx, a, token)
	if err != nil {
		return err
	}
	result := rec.Result
	if rec.Status == StatusStarted && result == nil {
		if result, err = c.reconcile(ctx, a, token); err != nil {
			return err
		}
	}
	if result == nil {
		if result, err = c.call(ctx, a, token); err != nil {
			return err
		}
	}
	return c.applyResult(ctx, a, token, result)
}

// begin commits the intent.
func (c *Consumer) begin(ctx context.Context, a *Attempt, token string) (Record, error) {
	var rec Record
	err := c.engine.Store.Do(ctx, func(tx Tx) error {
		h, err := a.hold(ctx, tx, token)
		if err != nil {
			return storeError("claim", err)
		}
		rec = h.Record
		if err := a.admit(h); err != nil {
			return err
		}
		if rec.Status == StatusStarted && rec.LeaseLeft > 0 {
			return fmt.Errorf("%w: external call under way", ErrInFlight)
		}
		a.Reached(ctx, StepClaimed)
		return storeErrorOrNil("save", h.save(ctx, Update{
			Status: StatusStarted, Attempts: a.Prior, Result: rec.Result, Lease: c.Policy.Timeout + leaseGrace,
		}))
	})
	if errors.Is(err, ErrUnknownCommit) {
		err = c.resolveIntent(ctx, a, token, err)
	}
	if err == nil {
		a.Reached(ctx, StepIntentRecorded)
	}
	return rec, err
}

// resolveIntent finds out whether the commit of the intent took effect. If it
// did, the attempt goes on; the call has not begun either way.
func (c *Consumer) resolveIntent(ctx context.Context, a *Attempt, token string, cause error) error {
	var now *held
	err := c.engine.Store.Do(ctx, func(tx Tx) error {
		var err error
		if now, err = a.hold(ctx, tx, token); err != nil {
			return err
		}
		return errRollback
	})
	if errors.Is(err, errRollback) && now.Status == StatusStarted && now.Token == token {
		return nil
	}
	return fmt.Errorf("%w: intent of an external call: %s", ErrStore, Summary(cause))
}

// reconcile asks what became of the earlier call. A nil result without an
// error means that it surely had no effect.
func (c *Consumer) reconcile(ctx context.Context, a *Attempt, token string) ([]byte, error) {
	a.unsettled = true
	if c.ext.reconcile == nil {
		return nil, a.unknownOutcome("no Reconcile method")
	}
	var result []byte
	var outcome CallOutcome
	err := c.runHandler(ctx, a, func() (err error) {
		result, outcome, err = c.ext.reconcile(ctx, a.info(nil), a.payload)
		return err
	})
	switch {
	case err != nil:
		return nil, c.release(ctx, a, token, StatusStarted, nil, err)
	case outcome == CallApplied:
		return result, nil
	case outcome == CallNotApplied:
		a.unsettled = false
		return nil, nil
	default:
		return nil, a.unknownOutcome("Reconcile could not tell")
	}
}

func (a *Attempt) unknownOutcome(why string) error {
	a.reason = ReasonUnknownOutcome
	return Permanent(fmt.Errorf("idem: an external call began and its outcome is unknown: %s", why))
}

func (c *Consumer) call(ctx context.Context, a *Attempt, token string) (result []byte, err error) {
	a.unsettled = true // until the call says otherwise, a panic included
	err = c.runHandler(ctx, a, func() (err error) {
		result, err = c.ext.call(ctx, a.info(nil), a.payload)
		return err
	})
	if err == nil {
		a.Reached(ctx, StepCalled)
		return result, nil
	}
	if c.engine.Classifier.hadNoEffect(err) {
		a.unsettled = false
		return nil, c.release(ctx, a, token, StatusPending, nil, err)
	}
	return nil, c.release(ctx, a, token, StatusStarted, nil, err)
}

// applyResult commits the result together with Apply's writes. When Apply
// fails, the result is kept so that the call is not repeated.
func (c *Consumer) applyResult(ctx context.Context, a *Attempt, token string, result []byte) error {
	a.result = result
	ran := false
	err := c.engine.Store.Do(ctx, func(tx Tx) error {
		h, err := a.hold(ctx, tx, token)
		if err != nil {
			return storeError("claim", err)
		}
		if h.Token != token {
			return fmt.Errorf("%w: another attempt has taken over the external call", ErrLeaseLost)
		}
		u := &unit{tx: tx, a: a}
		if err := c.runHandler(ctx, a, func() error {
			return c.ext.apply(context.WithValue(ctx, unitKey{}, u), a.info(u), a.payload, result)
		}); err != nil {
			return err
		}
		ran = true
		return c.finish(ctx, u, h, Update{Status: StatusDone, Attempts: a.Prior + a.Runs + 1, Result: result})
	})
	if errors.Is(err, ErrUnknownCommit) {
		err = c.resolve(ctx, a, token, err)
	}
	if err == nil {
		a.Reached(ctx, StepCommitted)
	}
	if ran {
		err = c.afterRun(ctx, a, err)
	}
	switch {
	case err == nil, errors.Is(err, errDuplicate):
		a.unsettled = false
		return err
	case errors.Is(err, ErrLeaseLost):
		return err
	default:
		return c.release(ctx, a, token, StatusStarted, result, err)
	}
}

// release ends this attempt's lease of the record and keeps what is known.
// It is best effort: if it fails the lease runs out by itself and the next
// attempt reconciles.
func (c *Consumer) release(ctx context.Context, a *Attempt, token string, status Status, result []byte, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseGrace)
	defer cancel()
	err := c.engine.Store.Do(ctx, func(tx Tx) error {
		h, err := a.hold(ctx, tx, token)
		if err != nil {
			return err
		}
		if h.Token != token {
			return errRollback
		}
		return h.save(ctx, Update{Status: status, Attempts: h.Attempts, Result: result, LastError: Summary(cause)})
	})
	if err != nil && !errors.Is(err, errRollback) {
		c.engine.Logger.Warn("idem: could not record the state of an external call", "consumer", c.Name, "error", Summary(err))
	}
	return cause
}

func storeErrorOrNil(what string, err error) error {
	if err == nil {
		return nil
	}
	return storeError(what, err)
}
