package sqldb

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Emit implements [idem.Tx].
func (u *unit) Emit(ctx context.Context, out ...idem.Outgoing) error {
	for _, o := range out {
		added, err := u.exec(ctx, "emit", u.s.sql.emit, o.ID, o.Topic, o.Key, encodeHeaders(o.Headers), o.Payload, micros(o.Delay))
		if err != nil {
			return err
		}
		u.emitted = u.emitted || added
	}
	return nil
}

// LeaseOutbox implements [idem.Outbox]. It looks for rows without taking the
// writer, then takes those that are still free: an idle relay, or one that
// finds a long line behind a row that must wait, stands in nobody's way.
func (s *Store) LeaseOutbox(ctx context.Context, n int, lease time.Duration) ([]idem.OutboxRow, error) {
	const what = "lease of outbox rows"
	if err := s.refuseNested(ctx, what); err != nil || n <= 0 {
		return nil, err
	}
	for range 3 { // another relay may take what we found
		free, err := s.leasable(ctx, n)
		if err != nil {
			return nil, s.failure(ctx, what, err)
		}
		if len(free) == 0 {
			break
		}
		var rows []idem.OutboxRow
		err = s.transact(ctx, what, func(tx *sql.Tx) (err error) {
			rows, err = s.lease(ctx, tx, free, lease)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			slices.SortFunc(rows, func(a, b idem.OutboxRow) int { return cmp.Compare(a.Seq, b.Seq) })
			return rows, nil
		}
	}
	return nil, nil
}

// leasable returns up to n rows that can be leased now, and with each every
// older one of its topic and key. Since rows are committed in the order of
// their seq, none can come between before they are leased.
func (s *Store) leasable(ctx context.Context, n int) ([]int64, error) {
	found, err := s.db.QueryContext(ctx, s.sql.leasable, n)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var free []int64
	for found.Next() {
		var seq int64
		if err := found.Scan(&seq); err != nil {
			return nil, err
		}
		free = append(free, seq)
	}
	return free, found.Err()
}

func (s *Store) lease(ctx context.Context, tx *sql.Tx, free []int64, lease time.Duration) ([]idem.OutboxRow, error) {
	list, err := json.Marshal(free)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	found, err := tx.QueryContext(ctx, s.sql.lease, token, micros(lease), string(list))
	if err != nil {
		return nil, s.failure(ctx, "lease outbox rows", err)
	}
	defer found.Close()
	var rows []idem.OutboxRow
	for found.Next() {
		r := idem.OutboxRow{Lease: token}
		var headers []byte
		if err := found.Scan(&r.Seq, &r.ID, &r.Topic, blob{&r.Key}, &headers, blob{&r.Payload}, &r.Attempts); err != nil {
			return nil, s.failure(ctx, "read an outbox row", err)
		}
		if r.Headers, err = decodeHeaders(headers); err != nil {
			return nil, s.failure(ctx, "headers of outbox row "+r.ID, err)
		}
		rows = append(rows, r)
	}
	if err := found.Err(); err != nil {
		return nil, s.failure(ctx, "lease outbox rows", err)
	}
	return rows, nil
}

// Published implements [idem.Outbox].
func (s *Store) Published(ctx context.Context, rows ...idem.OutboxRow) error {
	text := s.sql.published
	if s.cfg.OutboxRetention > 0 {
		text = s.sql.publishedKeep
	}
	return s.eachRow(ctx, "mark outbox rows published", text, rows)
}

// Postponed implements [idem.Outbox].
func (s *Store) Postponed(ctx context.Context, delay time.Duration, rows ...idem.OutboxRow) error {
	return s.eachRow(ctx, "postpone outbox rows", s.sql.postponed, rows, micros(delay))
}

// eachRow runs one statement for every row's seq and lease, in one transaction.
func (s *Store) eachRow(ctx context.Context, what, text string, rows []idem.OutboxRow, more ...any) error {
	if len(rows) == 0 {
		return nil
	}
	return s.transact(ctx, what, func(tx *sql.Tx) error {
		st, err := tx.PrepareContext(ctx, text)
		if err != nil {
			return s.failure(ctx, what, err)
		}
		defer st.Close()
		for _, r := range rows {
			if _, err := st.ExecContext(ctx, append([]any{r.Seq, r.Lease}, more...)...); err != nil {
				return s.failure(ctx, what, err)
			}
		}
		return nil
	})
}

// OutboxDepth implements [idem.Outbox].
func (s *Store) OutboxDepth(ctx context.Context) (rows int, oldest time.Duration, err error) {
	return s.countAndAge(ctx, "outbox depth", s.sql.depth)
}

// OutboxWake implements [idem.Outbox].
func (s *Store) OutboxWake() <-chan struct{} { return s.wake }

func (s *Store) countAndAge(ctx context.Context, what, text string) (n int, age time.Duration, err error) {
	if err := s.refuseRead(ctx, what); err != nil {
		return 0, 0, err
	}
	var us int64
	if err := s.db.QueryRowContext(ctx, text).Scan(&n, &us); err != nil {
		return 0, 0, s.failure(ctx, what, err)
	}
	return n, time.Duration(us) * time.Microsecond, nil
}
