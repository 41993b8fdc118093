package idem

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// groupTx is one shared transaction. Its members are in one of these lists, or
// have been told how they ended.
type groupTx struct {
	g        *grouper
	open     []*member // their turn has not come
	done     []*member // their handlers have returned without an error
	failed   []*member // to be judged in transactions of their own
	deadline time.Time
}

// errTurnFailed rolls a shared transaction back because of what is in failed.
var errTurnFailed = errors.New("idem: a handler failed in a shared transaction")

// try is one shared transaction. It returns those that have to try again, and
// whether all went well.
func (g *grouper) try(ms []*member) (again []*member, well bool) {
	t := &groupTx{g: g, open: ms, deadline: time.Now().Add(g.c.Group.Budget)}
	defer func() {
		if v := recover(); v != nil { // of a store; each meets it again, where it can be judged
			again, well = append(append(t.done, t.open...), t.failed...), false
		}
	}()
	ctx := g.c.engine.hard
	err := g.c.engine.Store.Do(ctx, func(tx Tx) error { return t.do(ctx, tx) })
	again = t.end(ctx, err)
	return again, len(again) == 0 && len(t.failed) == 0
}

func (t *groupTx) do(ctx context.Context, tx Tx) error {
	token := newToken()
	hs := make([]*held, len(t.open))
	for i, m := range t.open {
		m.token = token + "." + strconv.Itoa(i)
		m.held = m.a.claims(tx, m.token)
		hs[i] = m.held
	}
	if err := claimAll(ctx, tx, hs); err != nil {
		return storeError("claim", err)
	}
	t.admit()
	if len(t.open) == 0 {
		return errRollback
	}
	turns := t.oneByOne
	if t.g.c.runAll != nil {
		turns = t.together
	}
	if err := turns(ctx, tx); err != nil {
		return err
	}
	return t.finish(ctx, tx)
}

// admit lets those go whose record says that they must not run.
func (t *groupTx) admit() {
	ms := t.open
	t.open = nil
	for _, m := range ms {
		if err := m.a.admit(m.held); err != nil {
			t.g.settle([]*member{m}, order{err: err})
			continue
		}
		m.a.Reached(m.ctx, StepClaimed)
		t.open = append(t.open, m)
	}
}

// oneByOne runs handlers while the budget lasts.
func (t *groupTx) oneByOne(ctx context.Context, tx Tx) error {
	for len(t.open) > 0 {
		m := t.open[0]
		if len(t.done) > 0 && time.Until(t.deadline) < t.g.c.Group.Budget/2 {
			t.g.shrink(len(t.done))
			return nil
		}
		t.open = t.open[1:]
		if m.ctx.Err() != nil {
			m.orders <- order{alone: true}
			continue
		}
		m.orders <- order{tx: tx, deadline: t.deadline}
		switch r := <-m.ran; {
		case r.gone:
			t.g.release(m)
			return errTurnFailed
		case r.err != nil:
			t.failed = append(t.failed, m)
			return errTurnFailed
		}
		if err := t.ranWell(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// ranWell marks a message whose handler has returned. The database may say here
// that the handler has ended the transaction.
func (t *groupTx) ranWell(ctx context.Context, m *member) error {
	m.a.Reached(m.ctx, StepEffectWritten)
	if err := m.held.save(ctx, Update{Status: StatusDone, Attempts: m.a.Prior + m.a.Runs + 1}); err != nil {
		t.failed = append(t.failed, m)
		return storeError("save", err)
	}
	t.done = append(t.done, m)
	return nil
}

// together runs a batch handler over all.
func (t *groupTx) together(ctx context.Context, tx Tx) error {
	c := t.g.c
	ctx, cancel := context.WithTimeout(ctx, c.Policy.Timeout)
	defer cancel()
	items := make([]batchItem, len(t.open))
	for i, m := range t.open {
		u := &unit{tx: tx, a: m.a}
		items[i] = batchItem{info: m.a.info(u), payload: m.a.payload}
	}
	var errs []error
	returned := make(chan struct{})
	go func() { // where a panic or runtime.Goexit ends nothing else
		defer close(returned)
		defer func() {
			if v := recover(); v != nil {
				errs = nil
			}
		}()
		errs = c.runAll(context.WithValue(ctx, unitKey{}, &unit{tx: tx}), items)
	}()
	<-returned
	if len(errs) != len(items) {
		return errTurnFailed // nobody knows whose fault it is
	}
	ms := t.open
	t.open = nil
	for i, m := range ms {
		m.out = items[i].info.unit.close()
		if errs[i] != nil {
			t.failed = append(t.failed, m)
		} else if err := t.ranWell(ctx, m); err != nil {
			t.open = ms[i+1:]
			return err
		}
	}
	if len(t.failed) > 0 {
		return errTurnFailed
	}
	return nil
}

// finish writes everything that commits together with the effects.
func (t *groupTx) finish(ctx context.Context, tx Tx) error {
	var out []Outgoing
	var acks []*Delivery
	for _, m := range t.done {
		out = append(out, m.out...)
		if d := m.a.Delivery; t.g.c.engine.ackInTx && d != nil && d.AckTx != nil {
			acks = append(acks, d)
		}
	}
	if len(out) > 0 {
		if err := tx.Emit(ctx, out...); err != nil {
			return storeError("emit", err)
		}
	}
	if len(acks) > 0 {
		// Without its lease a message is delivered again, and then a duplicate.
		if err := acks[0].AckTx(ctx, tx.Native(), acks[1:]...); err != nil && !errors.Is(err, ErrLeaseLost) {
			return storeError("ack", err)
		}
	}
	for _, m := range t.done {
		if len(m.out) > 0 {
			m.a.Reached(m.ctx, StepOutboxWritten)
		}
		m.a.Reached(m.ctx, StepCommitting)
	}
	return nil
}

// end tells the members what the end of the transaction means for them, and
// returns those that have to try again.
func (t *groupTx) end(ctx context.Context, err error) (again []*member) {
	for _, m := range t.failed {
		m.orders <- order{alone: true}
	}
	switch {
	case err == nil:
		for _, m := range t.done {
			m.a.Reached(m.ctx, StepCommitted)
		}
		t.g.settle(t.done, order{})
		t.g.putBack(t.open)
	case errors.Is(err, errRollback): // there was nothing to do
	case errors.Is(err, ErrUnknownCommit):
		for _, m := range t.done {
			m.orders <- order{unknown: err}
		}
		t.g.putBack(t.open)
	case len(t.failed) == 0 && t.ourTrouble(ctx, err):
		t.g.settle(append(t.done, t.open...), order{err: err})
	default:
		for _, m := range t.open { // if a handler ended the transaction, these may be marked but have not run
			m.a.void = m.token
		}
		return append(t.done, t.open...)
	}
	return nil
}

// ourTrouble reports an error that would meet each of the messages alone, too.
func (t *groupTx) ourTrouble(ctx context.Context, err error) bool {
	if errors.Is(err, ErrInFlight) || errors.Is(err, errTurnFailed) || refusedByDatabase(err) {
		return false
	}
	class := t.g.c.engine.Classify(ctx, err)
	return class == ClassShutdown || class == ClassUnavailable
}
