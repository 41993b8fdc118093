// Package deadletter works on stored dead letters: look, change, replay,
// discard, one or many. Every step is one transaction on the store, together
// with the note in the audit of who did it and why, so it works on every
// transport and does not need the broker to be up.
package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// ErrNotParked is returned for a dead letter that was replayed or discarded before.
var ErrNotParked = errors.New("deadletter: not parked")

// By says who does something, and why; it goes into the audit as it is.
type By struct {
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
}

// entry is the audit's note of an action on a dead letter.
func (by By) entry(action string, d idem.DeadLetter, detail string) idem.AuditEntry {
	return idem.AuditEntry{
		Actor: cmp.Or(by.Actor, "unnamed"), Reason: by.Reason, Action: action,
		Consumer: d.Consumer, DeadLetter: d.ID, Key: d.Key, Detail: detail,
	}
}

// The actions of the audit.
const (
	ActionReplay    = "dlq.replay"
	ActionDiscard   = "dlq.discard"
	ActionTransform = "dlq.transform"
	ActionExport    = "dlq.export"
	ActionJob       = "dlq.job"
	ActionCancel    = "dlq.cancel"
)

// Service is the dead-letter operations on one store. Safe for concurrent use.
type Service struct {
	store idem.Store
	// retention of a key reopened by a replay
	retention time.Duration

	mu        sync.Mutex
	upcasters map[string]Upcaster
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

// Count returns how many a query selects, over all pages.
func (s *Service) Count(ctx context.Context, q idem.DeadLetterQuery) (int, error) {
	return s.store.CountMatching(ctx, q)
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
	// By is who replays it, and why.
	By By
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
	return s.store.Do(ctx, func(tx idem.Tx) error { return s.replay(ctx, tx, found, o) })
}

// replay needs what never changes of found: whose it is, and its key. It is
// read before the transaction, which on SQLite may have the only connection.
func (s *Service) replay(ctx context.Context, tx idem.Tx, found idem.DeadLetter, o ReplayOptions) error {
	id := found.ID
	if found.Key != "" { // the key first: that is the order of those who process messages
		if err := s.reopen(ctx, tx, found, o); err != nil {
			return fmt.Errorf("deadletter %s: %w", id, err)
		}
	}
	before, err := s.move(ctx, tx, id, idem.DeadLetterReplayed)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("replay %d", before.Replays+1)
	if o.AssumeNotApplied {
		detail += ", assuming that the external call was not applied"
	}
	if err := s.store.Audit(ctx, tx, o.By.entry(ActionReplay, before, detail)); err != nil {
		return err
	}
	return tx.Emit(ctx, idem.ReplayOf(before))
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
	if err := refusal(d, rec); err != nil {
		return err
	}
	u := idem.Update{Status: idem.StatusPending, Result: rec.Result}
	if d.Reason == idem.ReasonUnknownOutcome && !o.AssumeNotApplied {
		u.Status = idem.StatusStarted // the consumer asks what became of the call before it calls again
	}
	return tx.Save(ctx, claim, u)
}

// refusal says why a dead letter cannot be replayed, given the record of its
// key: the effect has happened, or would not be this message's.
func refusal(d idem.DeadLetter, rec idem.Record) error {
	if rec.Status != idem.StatusNew && rec.Fingerprint != "" && d.Fingerprint != "" && rec.Fingerprint != d.Fingerprint {
		return fmt.Errorf("%w, by a message with other content: discard this one, or publish it under another key", idem.ErrAlreadyDone)
	}
	if rec.Status == idem.StatusDone {
		return fmt.Errorf("%w by message %s (%s): the effect is there; discard this one", idem.ErrAlreadyDone, rec.MessageID, rec.Source)
	}
	return nil
}

// Discard gives a dead letter up for good. The record stays, for audit; its key
// stays dead.
func (s *Service) Discard(ctx context.Context, id string, by By) error {
	return s.store.Do(ctx, func(tx idem.Tx) error { return s.discard(ctx, tx, id, by) })
}

func (s *Service) discard(ctx context.Context, tx idem.Tx, id string, by By) error {
	before, err := s.move(ctx, tx, id, idem.DeadLetterDiscarded)
	if err != nil {
		return err
	}
	return s.store.Audit(ctx, tx, by.entry(ActionDiscard, before, ""))
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
