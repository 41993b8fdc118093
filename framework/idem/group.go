package idem

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Group bounds the transactions that messages of one consumer share in
// [TransactionGroup].
type Group struct {
	// Size is the highest number of messages in one transaction. 0 means 100.
	Size int
	// Wait is how long a transaction waits for more messages while the consumer
	// is busy; the first message after a pause never waits for others. 0 means 2 ms.
	Wait time.Duration
	// Budget is how long the handlers of one transaction may run together. After
	// half of it no further handler begins, those that remain join the next
	// transaction; a handler that still runs at its end is interrupted and gets a
	// transaction of its own, with the whole time-out. 0 means 200 ms.
	Budget time.Duration
	// Parallel is the number of shared transactions at a time in this process. 0 means 2.
	Parallel int
}

func (g Group) withDefaults() Group {
	if g.Size == 0 {
		g.Size = 100
	}
	if g.Wait == 0 {
		g.Wait = 2 * time.Millisecond
	}
	if g.Budget == 0 {
		g.Budget = 200 * time.Millisecond
	}
	if g.Parallel == 0 {
		g.Parallel = 2
	}
	return g
}

func (g Group) validate() error {
	var e fieldErrors
	e.check(g.Size > 0, "size", "must be positive, is %d", g.Size)
	e.check(g.Wait > 0, "wait", "must be positive, is %v", g.Wait)
	e.check(g.Budget > 0, "budget", "must be positive, is %v", g.Budget)
	e.check(g.Parallel > 0, "parallel", "must be positive, is %d", g.Parallel)
	return e.join()
}

// grouper brings the messages of one consumer together in transactions. Each
// message is in a goroutine of its own, with its part of the chain around it,
// and its handler runs there: the goroutine of the transaction only says whose
// turn it is. So panics, time-outs and runtime.Goexit end where they belong.
type grouper struct {
	c     *Consumer
	alone chan struct{} // slots for transactions of one message

	mu      sync.Mutex
	waiting []*member
	taken   map[string]bool // keys in transactions of this process
	running int             // transactions that were begun
	limit   int             // of the next transaction: halved by a failure, grown by success
	last    int             // size of the last one: whether the consumer is busy
	timer   *time.Timer
}

// aloneAtOnce bounds how many messages that may not share are in the database
// at once, for they come in crowds: a whole transaction fails together.
const aloneAtOnce = 8

func newGrouper(c *Consumer) *grouper {
	return &grouper{c: c, alone: make(chan struct{}, aloneAtOnce), taken: map[string]bool{}, limit: c.Group.Size}
}

// member is a message on its way through transactions.
type member struct {
	a     *Attempt
	ctx   context.Context
	came  time.Time
	token string
	held  *held
	out   []Outgoing // what its handler has emitted
	first bool       // its own transaction is one of those that were begun, not what is left of one

	orders chan order
	ran    chan ranMember
}

// order is what a transaction tells a member: to run now, or how it ended.
type order struct {
	tx       Tx
	deadline time.Time

	alone   bool  // go on in a transaction of your own
	unknown error // find out what became of the commit
	err     error // how it ended, nil is well
}

// ranMember is how a handler's turn ended. A handler that ended its goroutine
// is gone: nobody there waits for more.
type ranMember struct {
	err  error
	gone bool
}

// process is [Consumer.processOwn] for messages that may share transactions.
func (g *grouper) process(ctx context.Context, a *Attempt) error {
	m := &member{a: a, ctx: ctx, came: time.Now(), orders: make(chan order, 1), ran: make(chan ranMember, 1)}
	g.enter(m)
	ended := ctx.Done()
	for {
		select {
		case o := <-m.orders:
			switch {
			case o.tx != nil:
				m.run(o)
			case o.alone:
				return g.runAlone(m)
			case o.unknown != nil:
				defer g.release(m)
				return g.resolve(m, o.unknown)
			default:
				return o.err
			}
		case <-ended:
			if g.leave(m) {
				return storeError("wait for a transaction", errors.Join(ctx.Err(), context.Cause(ctx)))
			}
			ended = nil // in a transaction, which has the word
		}
	}
}

// runAlone is a transaction for one message, with the handler's whole time-out.
func (g *grouper) runAlone(m *member) error {
	select {
	case g.alone <- struct{}{}:
		defer func() { <-g.alone }()
	case <-m.ctx.Done():
		g.endAlone(m)
		return storeError("wait for a transaction", errors.Join(m.ctx.Err(), context.Cause(m.ctx)))
	}
	begun := time.Now()
	err := errTurnFailed // until it is known better
	defer func() {       // also after a panic
		switch {
		case err == nil && time.Since(begun) < g.c.Group.Budget/8:
			g.grow()
		case errors.Is(err, ErrStore):
			g.gather()
		}
		g.endAlone(m)
	}()
	ctx, cancel := context.WithTimeout(m.ctx, g.c.Policy.Timeout)
	defer cancel()
	err = g.c.processOwn(ctx, m.a)
	return err
}

// resolve finds out what became of a commit for one of its messages.
func (g *grouper) resolve(m *member, cause error) error {
	g.alone <- struct{}{}
	defer func() { <-g.alone }()
	err := g.c.resolve(m.ctx, m.a, m.token, cause)
	if err == nil {
		m.a.Reached(m.ctx, StepCommitted)
	}
	return err
}

// run is a handler's turn in a shared transaction. Nothing of how it fails is
// judged or counted: it may be a neighbour's fault.
func (m *member) run(o order) {
	u := &unit{tx: o.tx, a: m.a}
	returned := false
	var err error
	defer func() {
		switch {
		case returned:
			m.out = u.close()
			m.ran <- ranMember{err: err}
		case recover() != nil: // it will panic again, alone
			m.ran <- ranMember{err: errTurnFailed}
		default:
			m.ran <- ranMember{gone: true}
		}
	}()
	c := m.a.Consumer
	deadline := o.deadline
	if own := time.Now().Add(c.Policy.Timeout); own.Before(deadline) {
		deadline = own
	}
	ctx, cancel := context.WithDeadline(m.ctx, deadline)
	defer cancel()
	err = ctx.Err() // not ours any more
	if err == nil {
		err = c.run(context.WithValue(ctx, unitKey{}, u), m.a.info(u), m.a.payload)
	}
	returned = true
}

// enter adds a message to those that wait.
func (g *grouper) enter(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, m)
	g.start()
}

// leave takes a message away; false when a transaction has it.
func (g *grouper) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// endAlone ends a transaction of one message.
func (g *grouper) endAlone(m *member) {
	if m.first {
		g.mu.Lock()
		g.running--
		g.mu.Unlock()
	}
	g.release(m)
}

// release says that a message is in no transaction any more.
func (g *grouper) release(ms ...*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range ms {
		for _, key := range m.a.keys {
			delete(g.taken, key.text)
		}
	}
	g.start()
}

// start begins the transactions that are worth beginning. The caller holds g.mu.
func (g *grouper) start() {
	for len(g.waiting) > 0 && g.running < g.parallel() {
		ms := g.ready()
		if len(ms) == 0 {
			return
		}
		if len(ms) < g.limit && g.last > 1 {
			if left := g.c.Group.Wait - time.Since(ms[0].came); left > 0 {
				g.wake(left)
				return
			}
		}
		g.take(ms)
		g.running++
		if len(ms) == 1 {
			g.last, ms[0].first = 1, true
			ms[0].orders <- order{alone: true}
			continue
		}
		go g.transact(ms)
	}
}

// parallel is how many transactions may run now: more if they are small.
func (g *grouper) parallel() int {
	if g.limit == 1 {
		return max(g.c.Group.Parallel, aloneAtOnce)
	}
	return g.c.Group.Parallel
}

// ready are the messages that can share the next transaction: of one key only
// one at a time, so that it need not wait for another of this process.
func (g *grouper) ready() []*member {
	var ms []*member
	var own map[string]bool
	for _, m := range g.waiting {
		if len(ms) == g.limit {
			break
		}
		if slices.ContainsFunc(m.a.keys, func(key messageKey) bool { return g.taken[key.text] || own[key.text] }) {
			continue
		}
		if own == nil {
			own = make(map[string]bool, min(g.limit, len(g.waiting)))
		}
		for _, key := range m.a.keys {
			own[key.text] = true
		}
		ms = append(ms, m)
	}
	return ms
}

func (g *grouper) take(ms []*member) {
	n := 0
	g.waiting = slices.DeleteFunc(g.waiting, func(m *member) bool {
		if n < len(ms) && ms[n] == m {
			n++
			return true
		}
		return false
	})
	for _, m := range ms {
		for _, key := range m.a.keys {
			g.taken[key.text] = true
		}
	}
}

// wake looks again after d.
func (g *grouper) wake(d time.Duration) {
	if g.timer != nil {
		g.timer.Reset(d)
		return
	}
	g.timer = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.start()
	})
}

func (g *grouper) grow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = min(g.limit+1+g.limit/8, g.c.Group.Size)
}

// gather lets the next transaction wait for others: when the database is down,
// one that knocks is enough.
func (g *grouper) gather() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = g.c.Group.Size
}

func (g *grouper) shrink(to int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(min(g.limit, to), 1)
}

// transact brings messages to their end in shared transactions. One whose
// handler fails goes on alone, where it is judged; the others get a second
// transaction. Who still has none then, goes on alone: so no handler runs more
// than three times for its neighbours' faults.
func (g *grouper) transact(ms []*member) {
	size := len(ms)
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running--
		g.last = size
		g.start()
	}()
	rest, well := g.try(ms)
	if well {
		g.grow()
	} else {
		g.shrink(size / 2)
	}
	if len(rest) > 0 {
		rest, _ = g.try(rest)
	}
	for _, m := range rest {
		m.orders <- order{alone: true}
	}
}

// settle ends messages that are in a transaction.
func (g *grouper) settle(ms []*member, o order) {
	for _, m := range ms {
		m.orders <- o
	}
	g.release(ms...)
}

// putBack lets messages wait again, before the others: their turn never came.
func (g *grouper) putBack(ms []*member) {
	if len(ms) == 0 {
		return
	}
	g.release(ms...)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(slices.Clone(ms), g.waiting...)
	g.start()
}
