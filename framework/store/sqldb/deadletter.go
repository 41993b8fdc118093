package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Park implements [idem.Tx].
func (u *unit) Park(ctx context.Context, d idem.DeadLetter) (bool, error) {
	if d.State == "" {
		d.State = idem.DeadLetterParked
	}
	return u.exec(ctx, "park", u.s.sql.park,
		d.ID, d.Consumer, []byte(d.Key), d.Fingerprint, d.State, d.Reason, d.Class, d.Error, d.Attempts, d.MessageID, d.Topic, d.Position,
		nullTime(d.EnqueuedAt), d.CorrelationID, d.TraceParent, d.Envelope.Key, encodeHeaders(d.Envelope.Headers),
		nullTime(d.FirstFailed), nullTime(d.LastFailed), d.Replays, d.Payload)
}

// GetDeadLetter implements [idem.DeadLetters].
func (s *Store) GetDeadLetter(ctx context.Context, id string) (idem.DeadLetter, error) {
	if err := s.refuseRead(ctx, "read of a dead letter"); err != nil {
		return idem.DeadLetter{}, err
	}
	return s.getLetter(ctx, s.db.QueryRowContext(ctx, s.sql.getLetter, id), id)
}

func (s *Store) getLetter(ctx context.Context, row *sql.Row, id string) (idem.DeadLetter, error) {
	d, err := scanLetter(row)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return idem.DeadLetter{}, notFound(id)
	case err != nil:
		return idem.DeadLetter{}, s.failure(ctx, "read dead letter "+id, err)
	}
	return d, nil
}

// ListDeadLetters implements [idem.DeadLetters].
func (s *Store) ListDeadLetters(ctx context.Context, q idem.DeadLetterQuery) ([]idem.DeadLetter, error) {
	const what = "list dead letters"
	if err := s.refuseRead(ctx, what); err != nil {
		return nil, err
	}
	var after int64
	if q.After != "" {
		switch err := s.db.QueryRowContext(ctx, s.sql.letterSeq, q.After).Scan(&after); {
		case errors.Is(err, sql.ErrNoRows):
			return nil, notFound(q.After)
		case err != nil:
			return nil, s.failure(ctx, what, err)
		}
	}
	limit := min(q.Limit, 1000)
	if limit <= 0 {
		limit = 100
	}
	rows, err := s.db.QueryContext(ctx, s.sql.listLetters, after, q.Consumer, q.Topic, q.Reason, []byte(q.Key), q.Class, q.State, limit)
	if err != nil {
		return nil, s.failure(ctx, what, err)
	}
	defer rows.Close()
	var page []idem.DeadLetter
	for rows.Next() {
		d, err := scanLetter(rows)
		if err != nil {
			return nil, s.failure(ctx, what, err)
		}
		page = append(page, d)
	}
	if err := rows.Err(); err != nil {
		return nil, s.failure(ctx, what, err)
	}
	return page, nil
}

// CountDeadLetters implements [idem.DeadLetters].
func (s *Store) CountDeadLetters(ctx context.Context) (n int, oldest time.Duration, err error) {
	return s.countAndAge(ctx, "count dead letters", s.sql.countLetters)
}

// MoveDeadLetter implements [idem.DeadLetters].
func (s *Store) MoveDeadLetter(ctx context.Context, tx idem.Tx, id string, to idem.DeadLetterState) (idem.DeadLetter, error) {
	u, ok := tx.(*unit)
	if !ok || u.s != s {
		return idem.DeadLetter{}, idem.Bug(fmt.Errorf("sqldb: move dead letter %s: the transaction is of another store", id))
	}
	// A write first: it takes the row's lock before the row is read.
	found, err := u.exec(ctx, "lock dead letter "+id, s.sql.lockLetter, id)
	if err != nil {
		return idem.DeadLetter{}, err
	}
	if !found {
		return idem.DeadLetter{}, notFound(id)
	}
	was, err := s.getLetter(ctx, u.tx.QueryRowContext(ctx, s.sql.getLetter, id), id)
	if err != nil {
		return idem.DeadLetter{}, err
	}
	replays := 0
	if to == idem.DeadLetterReplayed {
		replays = 1
	}
	if _, err := u.exec(ctx, "move dead letter "+id, s.sql.moveLetter, id, to, replays); err != nil {
		return idem.DeadLetter{}, err
	}
	return was, nil
}

func notFound(id string) error { return fmt.Errorf("sqldb: dead letter %q: %w", id, idem.ErrNotFound) }

func scanLetter(row interface{ Scan(...any) error }) (idem.DeadLetter, error) {
	var (
		d           idem.DeadLetter
		key         []byte
		headers     []byte
		enqueued    sql.Null[int64]
		first, last int64
	)
	err := row.Scan(&d.ID, &d.Consumer, &key, &d.Fingerprint, &d.State, &d.Reason, &d.Class, &d.Error, &d.Attempts, &d.MessageID, &d.Topic, &d.Position,
		&enqueued, &d.CorrelationID, &d.TraceParent, blob{&d.Envelope.Key}, &headers, &first, &last, &d.Replays, blob{&d.Payload})
	if err != nil {
		return d, err
	}
	d.Key, d.EnqueuedAt = string(key), timeOf(enqueued)
	d.FirstFailed, d.LastFailed = time.UnixMicro(first), time.UnixMicro(last)
	d.Envelope.Headers, err = decodeHeaders(headers)
	return d, err
}
