package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

type recordID struct{ consumer, key string }

// record is one row of the processed-events table.
type record struct {
	idem.Record // LeaseLeft is computed when it is read
	leaseUntil  time.Time
	expires     time.Time
}

func (r record) past(now time.Time) bool { return !now.Before(r.expires) }

// Claim implements [idem.Tx].
func (u *unit) Claim(ctx context.Context, c idem.Claim) (idem.Record, error) {
	if err := u.alive(); err != nil {
		return idem.Record{}, err
	}
	if err := u.store.cfg.Fault(AtClaim); err != nil {
		return idem.Record{}, failure("claim", err)
	}
	if err := u.store.locks.acquire(ctx, u, lockKey(idOf(c)), u.store.cfg.ClaimWait); err != nil {
		return idem.Record{}, err
	}
	now := time.Now()
	r, ok := u.record(idOf(c))
	if ok && !r.past(now) {
		r.Result = slices.Clone(r.Result)
		r.LeaseLeft = 0
		if !r.leaseUntil.IsZero() {
			r.LeaseLeft = r.leaseUntil.Sub(now)
		}
		return r.Record, nil
	}
	u.records[idOf(c)] = record{
		Record:  idem.Record{Status: idem.StatusPending, Fingerprint: c.Fingerprint, Token: c.Token, MessageID: c.MessageID, Source: c.Source, FirstSeen: now},
		expires: now.Add(c.Retention),
	}
	return idem.Record{}, nil
}

// ClaimAll implements [idem.Tx].
func (u *unit) ClaimAll(ctx context.Context, cs []idem.Claim) ([]idem.Record, error) {
	records := make([]idem.Record, len(cs))
	for i, c := range cs {
		var err error
		if records[i], err = u.Claim(ctx, c); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// Save implements [idem.Tx].
func (u *unit) Save(_ context.Context, c idem.Claim, up idem.Update) error {
	if err := u.alive(); err != nil {
		return err
	}
	r, ok := u.record(idOf(c))
	if !ok || !slices.Contains(u.locked, lockKey(idOf(c))) {
		return failure("save", fmt.Errorf("the key of consumer %q is not claimed by this transaction", c.Consumer))
	}
	now := time.Now()
	r.Status, r.Attempts, r.Fingerprint, r.Token = up.Status, up.Attempts, c.Fingerprint, c.Token
	r.MessageID, r.Source = c.MessageID, c.Source
	r.Result = slices.Clone(up.Result)
	if up.LastError != "" {
		r.LastError = up.LastError
		if r.FirstFailed.IsZero() {
			r.FirstFailed = now
		}
	}
	r.leaseUntil = time.Time{}
	if up.Lease > 0 {
		r.leaseUntil = now.Add(up.Lease)
	}
	// A key whose external call may be under way must not be forgotten.
	r.expires = now.Add(max(c.Retention, up.Lease))
	u.records[idOf(c)] = r
	return nil
}

// record returns the record as this unit sees it.
func (u *unit) record(id recordID) (record, bool) {
	if r, ok := u.records[id]; ok {
		return r, true
	}
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	r, ok := u.store.records[id]
	return r, ok
}

func idOf(c idem.Claim) recordID { return recordID{c.Consumer, c.Key} }
