package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// fault is what becomes of a commit or of a publish.
type fault int

const (
	noFault    fault = iota
	refused          // it fails, and nothing has happened
	lostReply        // it takes effect, and the answer is lost
	lostCommit       // nothing has happened, and nobody says so; for commits only
	hangs            // there is no answer until whoever asked gives up
)

var errFault = errors.New("a fault made on purpose")

// unit is a transaction that is about to commit.
type unit struct {
	idem.Tx
	// done: a record was saved as done. parked: a dead letter was stored.
	done, parked bool
}

// Save implements [idem.Tx].
func (u *unit) Save(ctx context.Context, c idem.Claim, up idem.Update) error {
	u.done = u.done || up.Status == idem.StatusDone
	return u.Tx.Save(ctx, c, up)
}

// Park implements [idem.Tx].
func (u *unit) Park(ctx context.Context, d idem.DeadLetter) (bool, error) {
	u.parked = true
	return u.Tx.Park(ctx, d)
}

// faultyStore asks before each commit what is to become of it.
type faultyStore struct {
	idem.Store
	verdict func(u *unit) fault
}

// Do implements [idem.Store].
func (s faultyStore) Do(ctx context.Context, fn func(idem.Tx) error) error {
	var f fault
	err := s.Store.Do(ctx, func(tx idem.Tx) error {
		u := &unit{Tx: tx}
		if err := fn(u); err != nil {
			return err
		}
		switch f = s.verdict(u); f {
		case noFault, lostReply:
			return nil
		}
		return errFault
	})
	if f == hangs {
		<-ctx.Done()
	}
	switch {
	case f == lostReply && err == nil, f == lostCommit:
		return fmt.Errorf("commit: %w: %w: %w", idem.ErrStore, idem.ErrUnknownCommit, errFault)
	case f == refused || f == hangs:
		return fmt.Errorf("commit: %w: %w", idem.ErrStore, errFault)
	}
	return err
}

// faulty lets each process's store ask.
func (w *World) faulty(verdict func(u *unit) fault) {
	w.WrapStore = func(s idem.Store) idem.Store { return faultyStore{s, verdict} }
}

// faultyTransport asks before each publish what is to become of it.
type faultyTransport struct {
	idem.Transport
	verdict func(topic string, msgs []*message.Message) fault
	end     <-chan struct{} // of what hangs
}

// Unwrap returns the transport under test.
func (f faultyTransport) Unwrap() idem.Transport { return f.Transport }

// Publisher implements [idem.Transport].
func (f faultyTransport) Publisher() message.Publisher {
	return faultyPublisher{f.Transport.Publisher(), f}
}

type faultyPublisher struct {
	message.Publisher
	faultyTransport
}

// Publish implements [message.Publisher].
func (p faultyPublisher) Publish(topic string, msgs ...*message.Message) error {
	switch p.verdict(topic, msgs) {
	case noFault:
		return p.Publisher.Publish(topic, msgs...)
	case lostReply:
		return errors.Join(p.Publisher.Publish(topic, msgs...), errFault)
	case hangs:
		<-p.end
	}
	return errFault
}

// Close implements [message.Publisher].
func (p faultyPublisher) Close() error { return p.Publisher.Close() }

// faultyPublish lets each process's publisher ask. What hangs ends with mend,
// which is to be called before the case ends.
func (w *World) faultyPublish(verdict func(topic string, msgs []*message.Message) fault) (mend func()) {
	end := make(chan struct{})
	mend = sync.OnceFunc(func() { close(end) })
	w.Wrap = func(t idem.Transport) idem.Transport { return faultyTransport{t, verdict, end} }
	return mend
}

// first returns the fault n times, then none; safe for concurrent use.
func first(n int, f fault) func() fault {
	var mu sync.Mutex
	return func() fault {
		mu.Lock()
		defer mu.Unlock()
		if n--; n >= 0 {
			return f
		}
		return noFault
	}
}
