package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idem-go/idem/framework/idem"
)

// A new key is written as what success will make of it ("done" at the first
// attempt), since nobody can see it before COMMIT. In the usual case Save then
// has nothing to do, and the row never has a dead version that vacuum must
// remove: measured here, one write less is worth a third in rate, half the heap
// and a fifth of the WAL. A claim that ends without Save is made pending by
// settleClaims.
//
// Three ways to claim were measured (2 clients, keys of 20 bytes):
//
//	                              WAL/new  WAL/duplicate  dead rows/duplicate
//	DO UPDATE … RETURNING           675 B      226 B             1
//	DO NOTHING, SELECT FOR UPDATE   731 B      131 B             0
//	 … the SELECT skipping our row  675 B      131 B             0
//	DO NOTHING in a CTE             674 B      133 B             0
//
// The rates do not differ beyond noise. Of the two that leave no dead row, the
// one with two statements is used: each has a fresh snapshot, so the SELECT
// sees what the transaction that INSERT waited for has committed; a CTE would
// read with the snapshot from before the wait.
const (
	claimSQL = `INSERT INTO {inbox} (consumer, key, status, fingerprint, token, attempts, message_id, source, expires_at)
VALUES ($1, $2, 'done', $3, $4, 1, $5, $6, now() + $7::interval)
ON CONFLICT (consumer, key) DO NOTHING`

	recordSQL = `SELECT status, fingerprint, token, attempts, last_error, result, message_id, source,
	coalesce(lease_until - clock_timestamp(), interval '0'), first_seen, first_failed, expires_at <= now()
FROM {inbox} WHERE consumer = $1 AND key = $2`

	// Locking the row that this transaction has just inserted would be one
	// more write; FOR UPDATE follows to the newest version after a wait.
	otherRecordSQL = recordSQL + ` AND xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid FOR UPDATE`

	// A key past its retention starts anew.
	renewSQL = `UPDATE {inbox} SET status = 'done', fingerprint = $3, token = $4, attempts = 1, message_id = $5, source = $6,
	expires_at = now() + $7::interval, last_error = '', result = NULL, lease_until = NULL, first_seen = now(), first_failed = NULL
WHERE consumer = $1 AND key = $2`

	saveSQL = `UPDATE {inbox} SET fingerprint = $3, token = $4, message_id = $5, source = $6,
	status = $8, attempts = $9, last_error = coalesce(nullif($10, ''), last_error), result = $11,
	first_failed = CASE WHEN $10 <> '' THEN coalesce(first_failed, now()) ELSE first_failed END,
	lease_until = clock_timestamp() + $12::interval,
	expires_at = greatest(now() + $7::interval, clock_timestamp() + $12::interval)
WHERE consumer = $1 AND key = $2`

	unsavedSQL = `UPDATE {inbox} SET status = 'pending', attempts = 0 WHERE consumer = $1 AND key = $2`

	// The lock timeout holds for the claim alone. The value to go back to is
	// kept by the server: it may come from the role, the DSN or the handler.
	limitWaitSQL   = `SELECT set_config('idem.lock_timeout', current_setting('lock_timeout'), true), set_config('lock_timeout', $1, true)`
	unlimitWaitSQL = `SELECT set_config('lock_timeout', current_setting('idem.lock_timeout'), true)`
)

type claimID struct{ consumer, key string }

// claimed is a key that this transaction holds.
type claimed struct {
	claim idem.Claim
	fresh bool // the row says what claimSQL or renewSQL wrote
	saved bool
}

// claimTries bounds how often a record may vanish (Sweep) between the two
// statements of a claim.
const claimTries = 10

// Claim implements [idem.Tx]. After [idem.ErrInFlight] or any other error the
// transaction can only be rolled back. Each wait for a lock is bounded by
// ClaimWait; a claim waits more than once only when the holder before it rolls
// back and another one is faster.
func (t *tx) Claim(ctx context.Context, c idem.Claim) (idem.Record, error) {
	id := claimID{c.Consumer, c.Key}
	if own := t.claims[id]; own != nil {
		return t.claimAgain(ctx, id, own)
	}
	s := t.store
	for range claimTries {
		var inserted, found, expired bool
		var rec idem.Record
		err := t.send(ctx, func(b *pgx.Batch) {
			b.Queue(limitWaitSQL, fmt.Sprintf("%dms", s.cfg.ClaimWait.Milliseconds()))
			b.Queue(s.sql.claim, claimArgs(c)...).Exec(func(ct pgconn.CommandTag) error {
				inserted = ct.RowsAffected() == 1
				return nil
			})
			b.Queue(s.sql.otherRecord, c.Consumer, []byte(c.Key)).QueryRow(func(row pgx.Row) (err error) {
				rec, expired, found, err = scanRecord(row)
				return err
			})
			b.Queue(unlimitWaitSQL)
		})
		switch {
		case sqlState(err) == lockNotAvailable:
			return idem.Record{}, fmt.Errorf("postgres: claim of consumer %q: %w: still held after %v", c.Consumer, idem.ErrInFlight, s.cfg.ClaimWait)
		case err != nil:
			return idem.Record{}, storeError("claim of consumer "+c.Consumer, err)
		case inserted:
			t.claims[id] = &claimed{claim: c, fresh: true}
			return idem.Record{}, nil
		case found && expired:
			t.later.Queue(s.sql.renew, claimArgs(c)...)
			t.claims[id] = &claimed{claim: c, fresh: true}
			return idem.Record{}, nil
		case found:
			t.claims[id] = &claimed{claim: c}
			return rec, nil
		}
	}
	return idem.Record{}, storeError("claim of consumer "+c.Consumer, errors.New("the record was removed again and again while it was being claimed"))
}

// claimAgain is a second message with the same key in one transaction.
func (t *tx) claimAgain(ctx context.Context, id claimID, own *claimed) (rec idem.Record, err error) {
	if own.fresh && !own.saved {
		return idem.Record{}, nil
	}
	err = t.send(ctx, func(b *pgx.Batch) {
		b.Queue(t.store.sql.record, id.consumer, []byte(id.key)).QueryRow(func(row pgx.Row) (err error) {
			rec, _, _, err = scanRecord(row)
			return err
		})
	})
	if err != nil {
		return idem.Record{}, storeError("claim of consumer "+id.consumer, err)
	}
	return rec, nil
}

// Save implements [idem.Tx]. It is sent with the next statement, at the latest
// with COMMIT, and its error is that statement's.
func (t *tx) Save(_ context.Context, c idem.Claim, u idem.Update) error {
	if err := t.endedByHandler(); err != nil {
		return err // before anything is written outside of the transaction
	}
	own := t.claims[claimID{c.Consumer, c.Key}]
	if own == nil {
		return storeError("save", fmt.Errorf("consumer %q has not claimed this key in this transaction", c.Consumer))
	}
	own.saved = true
	asWritten := u.Status == idem.StatusDone && u.Attempts == 1 && u.LastError == "" && len(u.Result) == 0 && u.Lease <= 0
	if own.fresh && asWritten && c == own.claim {
		return nil
	}
	own.fresh = false
	var lease *time.Duration
	if u.Lease > 0 {
		lease = &u.Lease
	}
	t.later.Queue(t.store.sql.save, append(claimArgs(c), u.Status, u.Attempts, readable(u.LastError), u.Result, lease)...)
	return nil
}

// settleClaims corrects the rows of new keys that fn did not save.
func (t *tx) settleClaims() {
	for id, own := range t.claims {
		if own.fresh && !own.saved {
			t.later.Queue(t.store.sql.unsaved, id.consumer, []byte(id.key))
		}
	}
}

func claimArgs(c idem.Claim) []any {
	return []any{c.Consumer, []byte(c.Key), text(c.Fingerprint), text(c.Token), readable(c.MessageID), readable(c.Source), c.Retention}
}

func scanRecord(row pgx.Row) (rec idem.Record, expired, found bool, err error) {
	var fingerprint, token string
	var failed *time.Time
	err = row.Scan(&rec.Status, &fingerprint, &token, &rec.Attempts, &rec.LastError, &rec.Result, &rec.MessageID, &rec.Source, &rec.LeaseLeft, &rec.FirstSeen, &failed, &expired)
	if errors.Is(err, pgx.ErrNoRows) {
		return idem.Record{}, false, false, nil
	}
	rec.Fingerprint, rec.Token = untext(fingerprint), untext(token)
	if failed != nil {
		rec.FirstFailed = *failed
	}
	return rec, expired, true, err
}
