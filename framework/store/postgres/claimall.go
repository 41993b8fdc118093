package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/idem"
)

// Claims of many keys are those of one, set by set: see claimSQL. Both
// statements go through the keys in the order given, so that two transactions
// which share keys do not wait for each other.
const (
	claimAllSQL = `INSERT INTO {inbox} (consumer, key, status, fingerprint, token, attempts, message_id, source, expires_at)
SELECT consumer, key, 'done', fingerprint, token, 1, message_id, source, now() + retention * interval '1 microsecond'
FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
	AS c (consumer, key, fingerprint, token, message_id, source, retention)
ON CONFLICT (consumer, key) DO NOTHING
RETURNING consumer, key`

	otherRecordsSQL = `SELECT i.consumer, i.key, i.status, i.fingerprint, i.token, i.attempts, i.last_error, i.result, i.message_id, i.source,
	coalesce(i.lease_until - clock_timestamp(), interval '0'), i.first_seen, i.first_failed, i.expires_at <= now()
FROM {inbox} i JOIN unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS c (consumer, key, n) ON i.consumer = c.consumer AND i.key = c.key
WHERE i.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid ORDER BY c.n FOR UPDATE OF i`
)

// ClaimAll implements [idem.Tx].
func (t *tx) ClaimAll(ctx context.Context, cs []idem.Claim) ([]idem.Record, error) {
	records := make([]idem.Record, len(cs))
	open := make(map[claimID]int, len(cs))
	for i, c := range cs {
		id := claimID{c.Consumer, c.Key}
		if t.claims[id] != nil {
			var err error
			if records[i], err = t.Claim(ctx, c); err != nil {
				return nil, err
			}
			continue
		}
		if _, twice := open[id]; twice {
			return nil, storeError("claim", fmt.Errorf("consumer %q claims a key twice at once", c.Consumer))
		}
		open[id] = i
	}
	for range claimTries {
		if len(open) == 0 {
			return records, nil
		}
		if err := t.claimOpen(ctx, cs, open, records); err != nil {
			return nil, err
		}
	}
	return nil, storeError("claim", errors.New("records were removed again and again while they were being claimed"))
}

// claimOpen tries to claim what is open, and takes from there what it has got.
func (t *tx) claimOpen(ctx context.Context, cs []idem.Claim, open map[claimID]int, records []idem.Record) error {
	var a claimColumns
	for _, c := range cs {
		if _, ok := open[claimID{c.Consumer, c.Key}]; ok {
			a.add(c)
		}
	}
	got := func(id claimID, rec idem.Record, fresh bool) {
		i := open[id]
		delete(open, id)
		records[i] = rec
		t.claims[id] = &claimed{claim: cs[i], fresh: fresh}
	}
	var renewed []idem.Claim
	err := t.send(ctx, func(b *pgx.Batch) {
		b.Queue(limitWaitSQL, fmt.Sprintf("%dms", t.store.cfg.ClaimWait.Milliseconds()))
		b.Queue(t.store.sql.claimAll, a.all()...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var id claimID
				if err := scanID(rows, &id); err != nil {
					return err
				}
				got(id, idem.Record{}, true)
			}
			return rows.Err()
		})
		b.Queue(t.store.sql.otherRecords, a.consumers, a.keys).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var id claimID
				rec, expired, _, err := scanRecord(prefixed{rows, &id})
				if err != nil {
					return err
				}
				if expired {
					renewed = append(renewed, cs[open[id]])
					rec = idem.Record{}
				}
				got(id, rec, expired)
			}
			return rows.Err()
		})
		b.Queue(unlimitWaitSQL)
	})
	switch {
	case sqlState(err) == lockNotAvailable:
		return fmt.Errorf("postgres: claim: %w: still held after %v", idem.ErrInFlight, t.store.cfg.ClaimWait)
	case err != nil:
		return storeError("claim", err)
	}
	for _, c := range renewed {
		t.later.Queue(t.store.sql.renew, claimArgs(c)...)
	}
	return nil
}

// claimColumns are claims as columns.
type claimColumns struct {
	consumers, fingerprints, tokens, ids, sources []string
	keys                                          [][]byte
	retentions                                    []int64
}

func (a *claimColumns) add(c idem.Claim) {
	a.consumers, a.keys = append(a.consumers, c.Consumer), append(a.keys, []byte(c.Key))
	a.fingerprints, a.tokens = append(a.fingerprints, text(c.Fingerprint)), append(a.tokens, text(c.Token))
	a.ids, a.sources = append(a.ids, readable(c.MessageID)), append(a.sources, readable(c.Source))
	a.retentions = append(a.retentions, int64(c.Retention/time.Microsecond))
}

func (a *claimColumns) all() []any {
	return []any{a.consumers, a.keys, a.fingerprints, a.tokens, a.ids, a.sources, a.retentions}
}

func scanID(row pgx.Row, id *claimID) error {
	var key []byte
	err := row.Scan(&id.consumer, &key)
	id.key = string(key)
	return err
}

// prefixed is a row that begins with the identity of a record.
type prefixed struct {
	row pgx.Row
	id  *claimID
}

func (p prefixed) Scan(dest ...any) error {
	var key []byte
	err := p.row.Scan(append([]any{&p.id.consumer, &key}, dest...)...)
	p.id.key = string(key)
	return err
}
