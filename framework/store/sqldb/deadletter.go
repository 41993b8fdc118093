package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/internal/opsql"
)

// Park implements [idem.Tx].
func (u *unit) Park(ctx context.Context, d idem.DeadLetter) (bool, error) {
	if d.State == "" {
		d.State = idem.DeadLetterParked
	}
	return u.exec(ctx, "park", u.s.sql.park,
		d.ID, d.Consumer, []byte(d.Key), d.Fingerprint, d.State, d.Reason, d.Class, d.Error, d.Attempts, d.MessageID, d.Topic, d.Position,
		nullTime(d.EnqueuedAt), d.CorrelationID, d.TraceParent, d.Envelope.Key, encodeHeaders(d.Envelope.Headers),
		nullTime(d.FirstFailed), nullTime(d.LastFailed), d.Replays, d.Edits, d.Payload)
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
	f := opsql.Letters(q, asItIs, microsOf)
	order, after, through := " ORDER BY seq", ">", "<="
	if q.Newest {
		order, after, through = " ORDER BY seq DESC", "<", ">="
	}
	for _, bound := range []struct{ id, is string }{{q.After, after}, {q.Through, through}} {
		if bound.id == "" {
			continue
		}
		var seq int64
		switch err := s.db.QueryRowContext(ctx, s.sql.letterSeq, bound.id).Scan(&seq); {
		case errors.Is(err, sql.ErrNoRows):
			return nil, notFound(bound.id)
		case err != nil:
			return nil, s.failure(ctx, what, err)
		}
		f.And("seq "+bound.is+" ?", seq)
	}
	rows, err := s.db.QueryContext(ctx, s.sql.listLetters+f.Where()+order+f.Limit(q.Limit), f.Args()...)
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

// CountMatching implements [idem.DeadLetters].
func (s *Store) CountMatching(ctx context.Context, q idem.DeadLetterQuery) (n int, err error) {
	const what = "count dead letters"
	if err := s.refuseRead(ctx, what); err != nil {
		return 0, err
	}
	f := opsql.Letters(q, asItIs, microsOf)
	if err := s.db.QueryRowContext(ctx, s.sql.countMatching+f.Where(), f.Args()...).Scan(&n); err != nil {
		return 0, s.failure(ctx, what, err)
	}
	return n, nil
}

func asItIs(text string) string { return text }

func microsOf(t time.Time) any { return t.UnixMicro() }

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

// EditDeadLetter implements [idem.DeadLetters].
func (s *Store) EditDeadLetter(ctx context.Context, tx idem.Tx, id string, payload []byte) error {
	u, ok := tx.(*unit)
	if !ok || u.s != s {
		return idem.Bug(fmt.Errorf("sqldb: edit dead letter %s: the transaction is of another store", id))
	}
	found, err := u.exec(ctx, "edit dead letter "+id, s.sql.editLetter, id, payload)
	if err == nil && !found {
		return notFound(id)
	}
	return err
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
		&enqueued, &d.CorrelationID, &d.TraceParent, blob{&d.Envelope.Key}, &headers, &first, &last, &d.Replays, &d.Edits, blob{&d.Original}, blob{&d.Payload})
	if err != nil {
		return d, err
	}
	d.Key, d.EnqueuedAt = string(key), timeOf(enqueued)
	d.FirstFailed, d.LastFailed = time.UnixMicro(first), time.UnixMicro(last)
	d.Envelope.Headers, err = decodeHeaders(headers)
	return d, err
}
