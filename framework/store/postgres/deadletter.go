package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/internal/opsql"
)

const (
	letterColumns = `id, consumer, key, fingerprint, state, reason, class, error, attempts, message_id, topic, position, enqueued_at,
	correlation_id, trace_parent, ordering_key, header_names, header_values, first_failed, last_failed, replays`

	parkSQL = `INSERT INTO {dead_letters} AS d (` + letterColumns + `, edits, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
	coalesce($19, now()), coalesce($20, now()), $21, $22, $23)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, class = excluded.class, error = excluded.error,
	attempts = excluded.attempts, last_failed = excluded.last_failed WHERE d.state <> 'parked'`

	listLettersSQL = `SELECT ` + letterColumns + `, edits, NULL::bytea, NULL::bytea FROM {dead_letters}`
	getLetterSQL   = `SELECT ` + letterColumns + `, edits, original, payload FROM {dead_letters} WHERE id = $1`
	lockLetterSQL  = getLetterSQL + ` FOR UPDATE`
	moveLetterSQL  = `UPDATE {dead_letters} SET state = $2, replays = replays + CASE WHEN $2 = 'replayed' THEN 1 ELSE 0 END WHERE id = $1`
	editLetterSQL  = `UPDATE {dead_letters} SET payload = $2, original = CASE WHEN edits = 0 THEN payload ELSE original END, edits = edits + 1 WHERE id = $1`

	countLettersSQL = `SELECT count(*), coalesce(greatest(now() - min(stored_at), interval '0'), interval '0') FROM {dead_letters} WHERE state = 'parked'`
)

// Park implements [idem.Tx].
func (t *tx) Park(ctx context.Context, d idem.DeadLetter) (stored bool, err error) {
	if d.State == "" {
		d.State = idem.DeadLetterParked
	}
	names, values := splitHeaders(d.Envelope.Headers)
	err = t.send(ctx, func(b *pgx.Batch) {
		b.Queue(t.store.sql.park, text(d.ID), text(d.Consumer), []byte(d.Key), text(d.Fingerprint), d.State, d.Reason, d.Class, readable(d.Error),
			d.Attempts, text(d.MessageID), text(d.Topic), text(d.Position), timeOrNull(d.EnqueuedAt), text(d.CorrelationID), text(d.TraceParent),
			d.Envelope.Key, names, values, timeOrNull(d.FirstFailed), timeOrNull(d.LastFailed), d.Replays, d.Edits, d.Payload,
		).Exec(func(ct pgconn.CommandTag) error { stored = ct.RowsAffected() == 1; return nil })
	})
	if err != nil {
		return false, storeError("storing a dead letter", err)
	}
	return stored, nil
}

// ListDeadLetters implements [idem.DeadLetters]. Rows are ordered by the time
// they were first stored, then by id. After an id that does not exist it
// returns [idem.ErrNotFound].
func (s *Store) ListDeadLetters(ctx context.Context, q idem.DeadLetterQuery) ([]idem.DeadLetter, error) {
	f := opsql.Letters(q, text, func(t time.Time) any { return t })
	order, after, through := "ORDER BY stored_at, id", ">", "<="
	if q.Newest {
		order, after, through = "ORDER BY stored_at DESC, id DESC", "<", ">="
	}
	for _, bound := range []struct{ id, is string }{{q.After, after}, {q.Through, through}} {
		if bound.id == "" {
			continue
		}
		at, err := s.letterTime(ctx, bound.id)
		if err != nil {
			return nil, err
		}
		f.And("(stored_at, id) "+bound.is+" (?, ?)", at, text(bound.id))
	}
	sql := s.names.replace.Replace(listLettersSQL) + f.Where() + " " + order + f.Limit(q.Limit)
	var letters []idem.DeadLetter
	err := s.run(ctx, "list of dead letters", func(b *pgx.Batch) {
		b.Queue(sql, f.Args()...).Query(func(rows pgx.Rows) (err error) {
			letters, err = pgx.CollectRows(rows, scanLetter)
			return err
		})
	})
	return letters, err
}

// CountMatching implements [idem.DeadLetters].
func (s *Store) CountMatching(ctx context.Context, q idem.DeadLetterQuery) (n int, err error) {
	f := opsql.Letters(q, text, func(t time.Time) any { return t })
	err = s.run(ctx, "count of dead letters", func(b *pgx.Batch) {
		b.Queue(s.names.replace.Replace(`SELECT count(*) FROM {dead_letters}`)+f.Where(), f.Args()...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	})
	return n, err
}

func (s *Store) letterTime(ctx context.Context, id string) (at time.Time, err error) {
	err = s.run(ctx, "place of a dead letter", func(b *pgx.Batch) {
		b.Queue(s.names.replace.Replace(`SELECT stored_at FROM {dead_letters} WHERE id = $1`), text(id)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
	})
	return at, notFound(id, err)
}

// GetDeadLetter implements [idem.DeadLetters].
func (s *Store) GetDeadLetter(ctx context.Context, id string) (d idem.DeadLetter, err error) {
	err = s.run(ctx, "read of a dead letter", func(b *pgx.Batch) {
		b.Queue(s.sql.getLetter, text(id)).Query(func(rows pgx.Rows) (err error) {
			d, err = pgx.CollectExactlyOneRow(rows, scanLetter)
			return err
		})
	})
	return d, notFound(id, err)
}

// CountDeadLetters implements [idem.DeadLetters].
func (s *Store) CountDeadLetters(ctx context.Context) (n int, oldest time.Duration, err error) {
	err = s.run(ctx, "count of dead letters", func(b *pgx.Batch) {
		b.Queue(s.sql.countLetters).QueryRow(func(row pgx.Row) error { return row.Scan(&n, &oldest) })
	})
	return n, oldest, err
}

// MoveDeadLetter implements [idem.DeadLetters]; tx must be one of this package.
func (s *Store) MoveDeadLetter(ctx context.Context, unit idem.Tx, id string, to idem.DeadLetterState) (d idem.DeadLetter, err error) {
	t, ok := unit.(*tx)
	if !ok {
		return d, fmt.Errorf("postgres: MoveDeadLetter needs the transaction that Do gave, not a %T", unit)
	}
	err = t.send(ctx, func(b *pgx.Batch) {
		b.Queue(s.sql.lockLetter, text(id)).Query(func(rows pgx.Rows) (err error) {
			d, err = pgx.CollectExactlyOneRow(rows, scanLetter)
			return err
		})
		b.Queue(s.sql.moveLetter, text(id), to)
	})
	if err != nil {
		err = storeError("move of a dead letter", err)
	}
	return d, notFound(id, err)
}

// EditDeadLetter implements [idem.DeadLetters]; tx must be one of this package.
func (s *Store) EditDeadLetter(ctx context.Context, unit idem.Tx, id string, payload []byte) error {
	t, ok := unit.(*tx)
	if !ok {
		return fmt.Errorf("postgres: EditDeadLetter needs the transaction that Do gave, not a %T", unit)
	}
	found := false
	err := t.send(ctx, func(b *pgx.Batch) {
		b.Queue(s.sql.editLetter, text(id), payload).Exec(func(ct pgconn.CommandTag) error { found = ct.RowsAffected() == 1; return nil })
	})
	switch {
	case err != nil:
		return storeError("edit of a dead letter", err)
	case !found:
		return notFound(id, pgx.ErrNoRows)
	}
	return nil
}

func notFound(id string, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("postgres: dead letter %q: %w", id, idem.ErrNotFound)
	}
	return err
}

func scanLetter(row pgx.CollectableRow) (d idem.DeadLetter, err error) {
	var key []byte
	var names []string
	var values [][]byte
	var enqueued *time.Time
	err = row.Scan(&d.ID, &d.Consumer, &key, &d.Fingerprint, &d.State, &d.Reason, &d.Class, &d.Error, &d.Attempts,
		&d.MessageID, &d.Topic, &d.Position, &enqueued, &d.CorrelationID, &d.TraceParent,
		&d.Envelope.Key, &names, &values, &d.FirstFailed, &d.LastFailed, &d.Replays, &d.Edits, &d.Original, &d.Payload)
	d.Key, d.Envelope.Headers = string(key), joinHeaders(names, values)
	for _, s := range []*string{&d.ID, &d.Consumer, &d.Fingerprint, &d.MessageID, &d.Topic, &d.Position, &d.CorrelationID, &d.TraceParent} {
		*s = untext(*s)
	}
	if enqueued != nil {
		d.EnqueuedAt = *enqueued
	}
	return d, err
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
