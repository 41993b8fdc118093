package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// operations is what operators look at and write. Its methods ask no
// [Config].Fault: it breaks what messages depend on.
type operations struct {
	audit     []idem.AuditEntry
	controls  map[string]idem.Control
	presence  map[[2]string]idem.Presence // by consumer and instance
	sightings map[recordID][]sighting
	jobs      map[string]idem.Job
}

type sighting struct {
	idem.Sighting
	expires time.Time
}

func newOperations() operations {
	return operations{
		controls: map[string]idem.Control{}, presence: map[[2]string]idem.Presence{},
		sightings: map[recordID][]sighting{}, jobs: map[string]idem.Job{},
	}
}

// unitOf returns the unit of work behind tx.
func (s *Store) unitOf(tx idem.Tx, what string) (*unit, error) {
	u, ok := tx.(*unit)
	if !ok || u.store != s {
		return nil, idem.Bug(fmt.Errorf("memory: %s: the transaction is of another store", what))
	}
	return u, u.alive()
}

// look runs f while nobody writes.
func (s *Store) look(ctx context.Context, f func()) error {
	if ctx.Err() != nil {
		return failure("operations", context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return failure("operations", fmt.Errorf("store is closed"))
	}
	f()
	return nil
}

// Audit implements [idem.Operations].
func (s *Store) Audit(_ context.Context, tx idem.Tx, entries ...idem.AuditEntry) error {
	u, err := s.unitOf(tx, "audit")
	if err != nil {
		return err
	}
	u.later = append(u.later, func(now time.Time) {
		for _, e := range entries {
			e.Seq, e.At = int64(len(s.ops.audit)+1), now
			s.ops.audit = append(s.ops.audit, e)
		}
	})
	return nil
}

// ListAudit implements [idem.Operations].
func (s *Store) ListAudit(ctx context.Context, q idem.AuditQuery) (list []idem.AuditEntry, err error) {
	err = s.look(ctx, func() {
		for _, e := range slices.Backward(s.ops.audit) {
			if len(list) == pageSize(q.Limit) {
				break
			}
			if (q.Consumer == "" || q.Consumer == e.Consumer) && (q.DeadLetter == "" || q.DeadLetter == e.DeadLetter) &&
				(q.Action == "" || q.Action == e.Action) && (q.Before <= 0 || e.Seq < q.Before) {
				list = append(list, e)
			}
		}
	})
	return list, err
}

// SetControl implements [idem.Operations].
func (s *Store) SetControl(_ context.Context, tx idem.Tx, c idem.Control) error {
	u, err := s.unitOf(tx, "control")
	if err != nil {
		return err
	}
	u.later = append(u.later, func(now time.Time) {
		c.Version, c.ChangedAt = s.ops.controls[c.Consumer].Version+1, now
		s.ops.controls[c.Consumer] = c
	})
	return nil
}

// ListControls implements [idem.Operations].
func (s *Store) ListControls(ctx context.Context) (list []idem.Control, err error) {
	err = s.look(ctx, func() {
		list = slices.SortedFunc(maps.Values(s.ops.controls), func(a, b idem.Control) int { return strings.Compare(a.Consumer, b.Consumer) })
	})
	return list, err
}

// Announce implements [idem.Operations].
func (s *Store) Announce(ctx context.Context, ps ...idem.Presence) error {
	return s.look(ctx, func() {
		for _, p := range ps {
			p.SeenAt, p.Settled = time.Now(), maps.Clone(p.Settled)
			s.ops.presence[[2]string{p.Consumer, p.Instance}] = p
		}
	})
}

// ListPresence implements [idem.Operations].
func (s *Store) ListPresence(ctx context.Context) (list []idem.Presence, err error) {
	err = s.look(ctx, func() {
		for p := range maps.Values(s.ops.presence) {
			p.Age, p.Settled = time.Since(p.SeenAt), maps.Clone(p.Settled)
			list = append(list, p)
		}
		slices.SortFunc(list, func(a, b idem.Presence) int {
			return cmp.Or(cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Instance, b.Instance))
		})
	})
	return list, err
}

// Sight implements [idem.Operations].
func (s *Store) Sight(ctx context.Context, ss ...idem.Sighting) error {
	return s.look(ctx, func() {
		for _, n := range ss {
			s.sight(n, time.Now())
		}
	})
}

func (s *Store) sight(n idem.Sighting, now time.Time) {
	id := recordID{n.Consumer, n.Key}
	same := func(o sighting) bool { return o.Cause == n.Cause && o.Source == n.Source }
	i := slices.IndexFunc(s.ops.sightings[id], same)
	if i < 0 && len(s.ops.sightings[id]) >= idem.MaxSightings {
		n.Source, n.MessageID = "", ""
		i = slices.IndexFunc(s.ops.sightings[id], same)
	}
	if i < 0 {
		first := sighting{Sighting: n}
		first.First, first.Count = now, 0
		s.ops.sightings[id] = append(s.ops.sightings[id], first)
		i = len(s.ops.sightings[id]) - 1
	}
	row := &s.ops.sightings[id][i]
	row.Count += max(n.Count, 1)
	row.Last, row.expires = now, now.Add(n.Retention)
}

// ListSightings implements [idem.Operations].
func (s *Store) ListSightings(ctx context.Context, consumer, key string) (list []idem.Sighting, err error) {
	err = s.look(ctx, func() {
		for _, row := range s.ops.sightings[recordID{consumer, key}] {
			list = append(list, row.Sighting)
		}
	})
	return list, err
}

// FindRecords implements [idem.Operations].
func (s *Store) FindRecords(ctx context.Context, key string) (list []idem.FoundRecord, err error) {
	err = s.look(ctx, func() {
		for id, r := range s.records {
			if id.key != key {
				continue
			}
			found := idem.FoundRecord{Record: r.Record, Consumer: id.consumer, Key: key, Expires: r.expires}
			found.Result = bytes.Clone(r.Result)
			if !r.leaseUntil.IsZero() {
				found.LeaseLeft = time.Until(r.leaseUntil)
			}
			list = append(list, found)
		}
		slices.SortFunc(list, func(a, b idem.FoundRecord) int { return strings.Compare(a.Consumer, b.Consumer) })
	})
	return list, err
}

// SaveJob implements [idem.Operations].
func (s *Store) SaveJob(ctx context.Context, tx idem.Tx, j idem.Job) error {
	u, err := s.unitOf(tx, "job "+j.ID)
	if err != nil {
		return err
	}
	if err := s.locks.acquire(ctx, u, lockKey{key: "job:" + j.ID}, s.cfg.ClaimWait); err != nil {
		return err
	}
	s.mu.Lock()
	have := s.ops.jobs[j.ID].Version
	s.mu.Unlock()
	if have != j.Version-1 {
		return fmt.Errorf("memory: job %s: %w", j.ID, idem.ErrJobMoved)
	}
	j.Body = bytes.Clone(j.Body)
	u.later = append(u.later, func(now time.Time) {
		j.StartedAt, j.UpdatedAt = now, now
		if have > 0 {
			j.StartedAt = s.ops.jobs[j.ID].StartedAt
		}
		s.ops.jobs[j.ID] = j
	})
	return nil
}

// GetJob implements [idem.Operations].
func (s *Store) GetJob(ctx context.Context, id string) (j idem.Job, err error) {
	found := false
	err = s.look(ctx, func() { j, found = s.ops.jobs[id] })
	if err == nil && !found {
		err = fmt.Errorf("memory: job %q: %w", id, idem.ErrNotFound)
	}
	return j, err
}

// ListJobs implements [idem.Operations].
func (s *Store) ListJobs(ctx context.Context, limit int) (list []idem.Job, err error) {
	err = s.look(ctx, func() {
		list = slices.SortedFunc(maps.Values(s.ops.jobs), func(a, b idem.Job) int {
			return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
		})
	})
	return list[:min(len(list), pageSize(limit))], err
}

// ListOutbox implements [idem.Operations].
func (s *Store) ListOutbox(ctx context.Context, limit int) (list []idem.OutboxEntry, err error) {
	err = s.look(ctx, func() {
		now := time.Now()
		for _, r := range s.outbox[:min(len(s.outbox), pageSize(limit))] {
			list = append(list, r.entry(now))
		}
	})
	return list, err
}

// Condition implements [idem.Operations].
func (s *Store) Condition(ctx context.Context) (idem.Condition, error) {
	return idem.Condition{Now: time.Now(), Version: 1, Want: 1}, s.look(ctx, func() {})
}

// Tidy implements [idem.Operations].
func (s *Store) Tidy(ctx context.Context, limit int) (n int, err error) {
	err = s.look(ctx, func() {
		now := time.Now()
		for id, rows := range s.ops.sightings {
			kept := slices.DeleteFunc(rows, func(r sighting) bool {
				gone := n < limit && !now.Before(r.expires)
				if gone {
					n++
				}
				return gone
			})
			if s.ops.sightings[id] = kept; len(kept) == 0 {
				delete(s.ops.sightings, id)
			}
		}
		maps.DeleteFunc(s.ops.presence, func(_ [2]string, p idem.Presence) bool {
			gone := now.Sub(p.SeenAt) > idem.PresenceKept
			if gone {
				n++
			}
			return gone
		})
	})
	return n, err
}

func pageSize(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, 1000)
}
