package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// unit is a unit of work in progress.
type unit struct {
	s       *Store
	tx      *sql.Tx
	emitted bool
}

var _ idem.Tx = (*unit)(nil)

// Native implements [idem.Tx] and returns a [*sql.Tx].
func (u *unit) Native() any { return u.tx }

// Claim implements [idem.Tx].
func (u *unit) Claim(ctx context.Context, c idem.Claim) (idem.Record, error) {
	created, err := u.exec(ctx, "claim", u.s.sql.claim, c.Consumer, []byte(c.Key), c.Fingerprint, c.Token, c.MessageID, c.Source, micros(c.Retention))
	if err != nil || created {
		return idem.Record{}, err
	}
	var (
		r           idem.Record
		lease       sql.Null[int64]
		seen        int64
		firstFailed sql.Null[int64]
	)
	err = u.tx.QueryRowContext(ctx, u.s.sql.read, c.Consumer, []byte(c.Key)).
		Scan(&r.Status, &r.Fingerprint, &r.Token, &r.Attempts, &r.LastError, &r.Result, &r.MessageID, &r.Source, &lease, &seen, &firstFailed)
	if err != nil {
		return idem.Record{}, u.s.failure(ctx, "read the claimed record", err)
	}
	r.LeaseLeft = time.Duration(lease.V) * time.Microsecond
	r.FirstSeen, r.FirstFailed = time.UnixMicro(seen), timeOf(firstFailed)
	return r, nil
}

// ClaimAll implements [idem.Tx]. A database in the process has no round trips to save.
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
func (u *unit) Save(ctx context.Context, c idem.Claim, up idem.Update) error {
	saved, err := u.exec(ctx, "save", u.s.sql.save, c.Consumer, []byte(c.Key), up.Status, c.Fingerprint, c.Token, c.MessageID, c.Source,
		up.Attempts, up.LastError, up.Result, micros(up.Lease), micros(c.Retention))
	if err == nil && !saved {
		err = u.s.failure(ctx, "save", fmt.Errorf("no record of consumer %q has this key: claim it first", c.Consumer))
	}
	return err
}

// exec runs a statement of the unit and says whether it changed a row.
func (u *unit) exec(ctx context.Context, what, text string, args ...any) (changed bool, err error) {
	if err := u.s.alive(ctx, u.tx); err != nil {
		return false, err
	}
	r, err := u.tx.ExecContext(ctx, text, args...)
	if err != nil {
		if u.s.dialect.inFlight(err) {
			return false, fmt.Errorf("sqldb: %s: %w: %w", what, idem.ErrInFlight, err)
		}
		return false, u.s.failure(ctx, what, err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return false, u.s.failure(ctx, what, err)
	}
	return n > 0, nil
}
