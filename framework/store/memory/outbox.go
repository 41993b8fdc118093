package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// outboxRow is one unpublished row; the lease token is "" when nobody has it.
type outboxRow struct {
	idem.OutboxRow
	due  time.Time // of its own delay
	held time.Time // until then it is leased or postponed
}

// Emit implements [idem.Tx].
func (u *unit) Emit(_ context.Context, out ...idem.Outgoing) error {
	if err := u.alive(); err != nil {
		return err
	}
	for _, o := range out {
		u.out = append(u.out, cloneOutgoing(o))
	}
	return nil
}

// outgoingID is what an outbox row is told apart by.
type outgoingID struct{ topic, id string }

// append adds a committed row. The caller holds s.mu.
func (s *Store) append(o idem.Outgoing, now time.Time) {
	id := outgoingID{o.Topic, o.ID}
	if s.emitted[id] {
		return
	}
	s.emitted[id] = true
	s.seq++
	s.outbox = append(s.outbox, &outboxRow{OutboxRow: idem.OutboxRow{Outgoing: o, Seq: s.seq}, due: now.Add(o.Delay)})
}

// entry is the row as operators see it.
func (r *outboxRow) entry(now time.Time) idem.OutboxEntry {
	due := r.due
	if r.held.After(due) {
		due = r.held
	}
	return idem.OutboxEntry{
		Seq: r.Seq, ID: r.ID, Topic: r.Topic, Key: string(r.Key), Bytes: len(r.Payload), Attempts: r.Attempts,
		DueIn: due.Sub(now), Leased: r.Lease != "" && r.held.After(now),
	}
}

// LeaseOutbox implements [idem.Outbox].
func (s *Store) LeaseOutbox(ctx context.Context, n int, lease time.Duration) ([]idem.OutboxRow, error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	type stream struct{ topic, key string }
	now, token := time.Now(), rand.Text()
	blocked := map[stream]bool{}
	var rows []idem.OutboxRow
	for _, r := range s.outbox {
		if len(rows) >= n {
			break
		}
		st := stream{r.Topic, string(r.Key)}
		if now.Before(r.due) || now.Before(r.held) || r.Key != nil && blocked[st] {
			blocked[st] = blocked[st] || r.Key != nil
			continue
		}
		out := r.OutboxRow // Attempts before this lease
		out.Outgoing, out.Lease = cloneOutgoing(r.Outgoing), token
		rows = append(rows, out)
		r.Attempts, r.Lease, r.held = r.Attempts+1, token, now.Add(lease)
	}
	return rows, nil
}

// Published implements [idem.Outbox].
func (s *Store) Published(ctx context.Context, rows ...idem.OutboxRow) error {
	if err := s.ready(ctx, AtCall); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox = slices.DeleteFunc(s.outbox, func(r *outboxRow) bool {
		gone := leasedIn(rows, r)
		if gone {
			delete(s.emitted, outgoingID{r.Topic, r.ID})
		}
		return gone
	})
	return nil
}

// Postponed implements [idem.Outbox].
func (s *Store) Postponed(ctx context.Context, delay time.Duration, rows ...idem.OutboxRow) error {
	if err := s.ready(ctx, AtCall); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	until := time.Now().Add(delay)
	for _, r := range s.outbox {
		if leasedIn(rows, r) {
			r.Lease, r.held = "", until
		}
	}
	return nil
}

func leasedIn(rows []idem.OutboxRow, r *outboxRow) bool {
	return slices.ContainsFunc(rows, func(l idem.OutboxRow) bool { return l.Seq == r.Seq && l.Lease == r.Lease && r.Lease != "" })
}

// OutboxDepth implements [idem.Outbox].
func (s *Store) OutboxDepth(ctx context.Context) (rows int, oldest time.Duration, err error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.outbox {
		oldest = max(oldest, time.Since(r.due))
	}
	return len(s.outbox), oldest, nil
}

// OutboxWake implements [idem.Outbox].
func (s *Store) OutboxWake() <-chan struct{} { return s.wake }

func cloneOutgoing(o idem.Outgoing) idem.Outgoing {
	o.Key, o.Payload, o.Headers = bytes.Clone(o.Key), bytes.Clone(o.Payload), cloneHeaders(o.Headers)
	return o
}

func cloneHeaders(hs []idem.Header) []idem.Header {
	hs = slices.Clone(hs)
	for i := range hs {
		hs[i].Value = bytes.Clone(hs[i].Value)
	}
	return hs
}
