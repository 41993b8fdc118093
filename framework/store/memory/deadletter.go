package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Park implements [idem.Tx].
func (u *unit) Park(ctx context.Context, d idem.DeadLetter) (bool, error) {
	if err := u.lockLetter(ctx, d.ID); err != nil {
		return false, err
	}
	if d.State == "" {
		d.State = idem.DeadLetterParked
	}
	if d.LastFailed.IsZero() {
		d.LastFailed = time.Now()
	}
	if was := u.letter(d.ID); was != nil {
		if was.State == idem.DeadLetterParked {
			return false, nil
		}
		again := cloneLetter(*was)
		again.State, again.Reason, again.Class, again.Error = d.State, d.Reason, d.Class, d.Error
		again.Attempts, again.LastFailed = d.Attempts, d.LastFailed
		u.letters[d.ID] = &again
		return true, nil
	}
	if d.FirstFailed.IsZero() {
		d.FirstFailed = d.LastFailed
	}
	d = cloneLetter(d)
	u.letters[d.ID] = &d
	u.parked = append(u.parked, d.ID)
	return true, nil
}

// MoveDeadLetter implements [idem.DeadLetters].
func (s *Store) MoveDeadLetter(ctx context.Context, tx idem.Tx, id string, to idem.DeadLetterState) (idem.DeadLetter, error) {
	u, ok := tx.(*unit)
	if !ok || u.store != s {
		return idem.DeadLetter{}, idem.Bug(fmt.Errorf("memory: move dead letter %s: the transaction is of another store", id))
	}
	if err := u.lockLetter(ctx, id); err != nil {
		return idem.DeadLetter{}, err
	}
	was := u.letter(id)
	if was == nil {
		return idem.DeadLetter{}, fmt.Errorf("memory: dead letter %q: %w", id, idem.ErrNotFound)
	}
	moved := *was
	moved.State = to
	if to == idem.DeadLetterReplayed {
		moved.Replays++
	}
	u.letters[id] = &moved
	return cloneLetter(*was), nil
}

func (u *unit) lockLetter(ctx context.Context, id string) error {
	if err := u.alive(); err != nil {
		return err
	}
	return u.store.locks.acquire(ctx, u, lockKey{key: id}, u.store.cfg.ClaimWait)
}

// letter returns the dead letter as this unit sees it, or nil.
func (u *unit) letter(id string) *idem.DeadLetter {
	if d := u.letters[id]; d != nil {
		return d
	}
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	return u.store.letters[id]
}

// GetDeadLetter implements [idem.DeadLetters].
func (s *Store) GetDeadLetter(ctx context.Context, id string) (idem.DeadLetter, error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return idem.DeadLetter{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.letters[id]
	if !ok {
		return idem.DeadLetter{}, fmt.Errorf("memory: dead letter %q: %w", id, idem.ErrNotFound)
	}
	return cloneLetter(*d), nil
}

// ListDeadLetters implements [idem.DeadLetters].
func (s *Store) ListDeadLetters(ctx context.Context, q idem.DeadLetterQuery) ([]idem.DeadLetter, error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var page []idem.DeadLetter
	start, end := 0, len(s.parked)
	for _, bound := range []struct {
		id  string
		set func(i int)
	}{
		{q.After, func(i int) {
			if q.Newest {
				end = i
			} else {
				start = i + 1
			}
		}},
		{q.Through, func(i int) {
			if q.Newest {
				start = i
			} else {
				end = i + 1
			}
		}},
	} {
		if bound.id == "" {
			continue
		}
		i := slices.Index(s.parked, bound.id)
		if i < 0 {
			return nil, fmt.Errorf("memory: dead letter %q, a bound of the page: %w", bound.id, idem.ErrNotFound)
		}
		bound.set(i)
	}
	ids := slices.Clone(s.parked[start:max(start, end)])
	if q.Newest {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		if len(page) == pageSize(q.Limit) {
			break
		}
		if d := *s.letters[id]; matches(d, q) {
			d.Payload, d.Original = nil, nil
			page = append(page, cloneLetter(d))
		}
	}
	return page, nil
}

// CountMatching implements [idem.DeadLetters].
func (s *Store) CountMatching(ctx context.Context, q idem.DeadLetterQuery) (n int, err error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.letters {
		if matches(*d, q) {
			n++
		}
	}
	return n, nil
}

// EditDeadLetter implements [idem.DeadLetters].
func (s *Store) EditDeadLetter(ctx context.Context, tx idem.Tx, id string, payload []byte) error {
	u, err := s.unitOf(tx, "edit dead letter "+id)
	if err != nil {
		return err
	}
	if err := u.lockLetter(ctx, id); err != nil {
		return err
	}
	was := u.letter(id)
	if was == nil {
		return fmt.Errorf("memory: dead letter %q: %w", id, idem.ErrNotFound)
	}
	edited := cloneLetter(*was)
	if edited.Edits == 0 {
		edited.Original = edited.Payload
	}
	edited.Payload, edited.Edits = bytes.Clone(payload), edited.Edits+1
	u.letters[id] = &edited
	return nil
}

func matches(d idem.DeadLetter, q idem.DeadLetterQuery) bool {
	return (q.Consumer == "" || q.Consumer == d.Consumer) &&
		(q.Topic == "" || q.Topic == d.Topic) &&
		(q.Reason == "" || q.Reason == d.Reason) &&
		(q.Key == "" || q.Key == d.Key) &&
		(q.Class == "" || q.Class == d.Class) &&
		(q.State == "" || q.State == d.State) &&
		(q.Since.IsZero() || !d.LastFailed.Before(q.Since)) &&
		(q.Until.IsZero() || d.LastFailed.Before(q.Until)) &&
		(q.MinAttempts <= 0 || d.Attempts >= q.MinAttempts) &&
		(q.MaxAttempts <= 0 || d.Attempts <= q.MaxAttempts) &&
		(q.Text == "" || slices.ContainsFunc([]string{d.Error, d.MessageID, d.CorrelationID}, func(s string) bool {
			return strings.Contains(strings.ToLower(s), strings.ToLower(q.Text))
		}))
}

// CountDeadLetters implements [idem.DeadLetters].
func (s *Store) CountDeadLetters(ctx context.Context) (n int, oldest time.Duration, err error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.letters {
		if d.State == idem.DeadLetterParked {
			n++
			oldest = max(oldest, time.Since(d.LastFailed))
		}
	}
	return n, oldest, nil
}

func cloneLetter(d idem.DeadLetter) idem.DeadLetter {
	d.Original = bytes.Clone(d.Original)
	d.Payload, d.Envelope.Key, d.Envelope.Headers = bytes.Clone(d.Payload), bytes.Clone(d.Envelope.Key), cloneHeaders(d.Envelope.Headers)
	return d
}
