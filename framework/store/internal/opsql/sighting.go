package opsql

import (
	"cmp"
	"context"
	"slices"

	"github.com/idem-go/idem/framework/idem"
)

const (
	sightAgainSQL = `UPDATE {sightings} SET count = count + $5, last_at = {now}, expires_at = {now} + $6
		WHERE consumer = $1 AND key = $2 AND cause = $3 AND source = $4`
	sightingsSQL = `SELECT count(*) FROM {sightings} WHERE consumer = $1 AND key = $2`
	sightSQL     = `INSERT INTO {sightings} AS s (consumer, key, cause, source, message_id, count, first_at, last_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, {now}, {now}, {now} + $7)
		ON CONFLICT (consumer, key, cause, source) DO UPDATE SET
			count = s.count + excluded.count, last_at = excluded.last_at, expires_at = excluded.expires_at`
)

// Sight implements [idem.Operations]. Processes that see new duplicates of one
// key at the same instant may keep a few more than [idem.MaxSightings].
func (o *Ops) Sight(ctx context.Context, ss ...idem.Sighting) error {
	if len(ss) == 0 {
		return nil
	}
	ss = slices.Clone(ss) // one order for all processes, or two could wait for each other
	slices.SortStableFunc(ss, func(a, b idem.Sighting) int {
		return cmp.Or(cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Source, b.Source))
	})
	return o.b.Write(ctx, "count duplicates", func(c Conn) error {
		for _, s := range ss {
			if err := o.sight(ctx, c, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *Ops) sight(ctx context.Context, c Conn, s idem.Sighting) error {
	n, keep := max(s.Count, 1), s.Retention.Microseconds()
	source, id := clean(s.Source), clean(s.MessageID)
	known, err := c.Exec(ctx, o.sql(sightAgainSQL), s.Consumer, []byte(s.Key), string(s.Cause), source, n, keep)
	if err != nil || known > 0 {
		return err
	}
	have, err := o.number(ctx, c, sightingsSQL, s.Consumer, []byte(s.Key))
	if err != nil {
		return err
	}
	if have >= idem.MaxSightings {
		source, id = "", ""
	}
	_, err = c.Exec(ctx, o.sql(sightSQL), s.Consumer, []byte(s.Key), string(s.Cause), source, id, n, keep)
	return err
}

// ListSightings implements [idem.Operations].
func (o *Ops) ListSightings(ctx context.Context, consumer, key string) ([]idem.Sighting, error) {
	return collect(ctx, o, "list of duplicates", `SELECT cause, source, message_id, count, first_at, last_at FROM {sightings}
		WHERE consumer = $1 AND key = $2 ORDER BY first_at, source`,
		func(scan scanner) (idem.Sighting, error) {
			s := idem.Sighting{Consumer: consumer, Key: key}
			var first, last int64
			err := scan(&s.Cause, &s.Source, &s.MessageID, &s.Count, &first, &last)
			s.First, s.Last = micros(first), micros(last)
			return s, err
		}, consumer, []byte(key))
}

// FindRecords implements [idem.Operations].
func (o *Ops) FindRecords(ctx context.Context, key string) ([]idem.FoundRecord, error) {
	return collect(ctx, o, "search of a key", o.b.FindRecords, func(scan scanner) (r idem.FoundRecord, err error) {
		var fingerprint, token string
		var lease, seen, failed, expires int64
		err = scan(&r.Consumer, &r.Status, &fingerprint, &token, &r.Attempts, &r.LastError, &r.Result, &r.MessageID, &r.Source,
			&lease, &seen, &failed, &expires)
		r.Key, r.Fingerprint, r.Token = key, o.b.Untext(fingerprint), o.b.Untext(token)
		r.LeaseLeft, r.FirstSeen, r.Expires = span(lease), micros(seen), micros(expires)
		if failed > 0 {
			r.FirstFailed = micros(failed)
		}
		return r, err
	}, []byte(key))
}
