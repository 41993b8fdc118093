// Package deadletter works on stored dead letters: look, replay, discard.
// Everything it does is one transaction on the store, so it works on every
// transport and does not need the broker to be up.
package deadletter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// ErrNotParked is returned for a dead letter that was replayed or discarded before.
var ErrNotParked = errors.New("deadletter: not parked")

// Service is the dead-letter operations on one store. Safe for concurrent use.
type Service struct {
	store idem.Store
	// retention of a key reopened by a replay
	retention time.Duration
}

// New returns the operations on a store. Retention is how long a replayed key
// is remembered until its consumer sets its own; 0 means 192 h.
func New(store idem.Store, retention time.Duration) *Service {
	if retention <= 0 {
		retention = 192 * time.Hour
	}
	return &Service{store: store, retention: retention}
}

// List returns one page; see [idem.DeadLetterQuery].
func (s *Service) List(ctx context.Context, q idem.DeadLetterQuery) ([]idem.DeadLetter, error) {
	return s.store.ListDeadLetters(ctx, q)
}

// All walks every match, page by page, without payloads.
func (s *Service) All(ctx context.Context, q idem.DeadLetterQuery) iter.Seq2[idem.DeadLetter, error] {
	return func(yield func(idem.DeadLetter, error) bool) {
		for {
			page, err := s.store.ListDeadLetters(ctx, q)
			if err != nil {
				yield(idem.DeadLetter{}, err)
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			q.After = page[len(page)-1].ID
		}
	}
}

// Get returns one with its payload, or idem.ErrNotFound.
func (s *Service) Get(ctx context.Context, id string) (idem.DeadLetter, error) {
	return s.store.GetDeadLetter(ctx, id)
}

// ReplayOptions tune a replay.
type ReplayOptions struct {
	// AssumeNotApplied lets an external call whose outcome is unknown be made
	// again. Set it only after looking at the third party.
	AssumeNotApplied bool
}

// Replay sends a dead letter back to its consumer, through the outbox, under
// the same idempotency key and with all its attempts again. It refuses, and
// changes nothing, when the dead letter is not parked ([ErrNotParked]), is not
// there (idem.ErrNotFound), or its key is completed (idem.ErrAlreadyDone): the
// effect has happened, or the key belongs to another message.
func (s *Service) Replay(ctx context.Context, id string, o ReplayOptions) error {
	found, err := s.store.GetDeadLetter(ctx, id)
	if err != nil {
		return err
	}
	return s.store.Do(ctx, func(tx idem.Tx) error {
		if found.Key != "" {
			if err := s.reopen(ctx, tx, found, o); err != nil {
				return fmt.Errorf("deadletter %s: %w", id, err)
			}
		}
		before, err := s.move(ctx, tx, id, idem.DeadLetterReplayed)
		if err != nil {
			return err
		}
		return tx.Emit(ctx, idem.ReplayOf(before))
	})
}

// reopen lets the key be processed again.
func (s *Service) reopen(ctx context.Context, tx idem.Tx, d idem.DeadLetter, o ReplayOptions) error {
	claim := idem.Claim{
		Consumer: d.Consumer, Key: d.Key, Fingerprint: d.Fingerprint, Token: "replay:" + d.ID,
		MessageID: d.MessageID, Source: d.Topic + "@" + d.Position, Retention: s.retention,
	}
	rec, err := tx.Claim(ctx, claim)
	if err != nil {
		return err
	}
	if rec.Status != idem.StatusNew && rec.Fingerprint != "" && d.Fingerprint != "" && rec.Fingerprint != d.Fingerprint {
		return fmt.Errorf("%w, by a message with other content: discard this one, or publish it under another key", idem.ErrAlreadyDone)
	}
	if rec.Status == idem.StatusDone {
		return idem.ErrAlreadyDone
	}
	u := idem.Update{Status: idem.StatusPending, Result: rec.Result}
	if d.Reason == idem.ReasonUnknownOutcome && !o.AssumeNotApplied {
		u.Status = idem.StatusStarted // the consumer asks what became of the call before it calls again
	}
	return tx.Save(ctx, claim, u)
}

// Discard gives a dead letter up for good. The record stays, for audit; its key
// stays dead.
func (s *Service) Discard(ctx context.Context, id string) error {
	return s.store.Do(ctx, func(tx idem.Tx) error {
		_, err := s.move(ctx, tx, id, idem.DeadLetterDiscarded)
		return err
	})
}

func (s *Service) move(ctx context.Context, tx idem.Tx, id string, to idem.DeadLetterState) (idem.DeadLetter, error) {
	before, err := s.store.MoveDeadLetter(ctx, tx, id, to)
	if err != nil {
		return before, fmt.Errorf("deadletter %s: %w", id, err)
	}
	if before.State != idem.DeadLetterParked {
		return before, fmt.Errorf("deadletter %s: %w: it is %s", id, ErrNotParked, before.State)
	}
	return before, nil
}
