package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/idem"
)

// A lane is what orders rows: topic and key. It is a column of bounded length
// because a broker's key may be longer than an index entry.
//
// ready_at moves with Postponed; due_at stays, so that the age of a row that
// nobody can publish keeps growing. A lease changes no indexed column.
const (
	emitSQL = `INSERT INTO {outbox} (id, topic, key, lane, header_names, header_values, payload, due_at, ready_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8::interval, clock_timestamp() + $8::interval)
ON CONFLICT (topic, id) DO NOTHING`

	// An outbox is empty most of the time. A plan made then scans the whole
	// table, and sessions keep it when 100,000 rows wait: a lease took a minute.
	// So every plan is made to use the indexes.
	useIndexes = `set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

	// One lease at a time, so that its snapshot has every lease before it: a
	// relay that did not see another's lease of an older row would hand out a
	// younger one of its lane. Losing a lease in a crash only ends it early,
	// so nobody waits for the disk.
	beforeLeaseSQL     = `SELECT pg_advisory_xact_lock($1), set_config('synchronous_commit', 'off', true), ` + useIndexes
	beforePostponedSQL = `SELECT pg_advisory_xact_lock_shared($1), ` + useIndexes
	beforePublishedSQL = `SELECT ` + useIndexes

	// ready: rows that may go, oldest due first, of lanes whose oldest row may
	// go too. Due times need not follow the order of a lane, so each lane then
	// gives as many rows as it has in there, but from its oldest on and only up
	// to the first that may not go. Looking at the oldest row alone keeps the
	// cost of a row independent of the length of its lane.
	//
	// Nothing is remembered between two calls: a row whose transaction commits
	// late is found like any other. Rows that a Published is removing just now
	// are skipped.
	leaseSQL = `WITH ready AS (
	SELECT o.seq, o.topic, o.lane
	FROM {outbox} o LEFT JOIN LATERAL (
		SELECT h.ready_at <= now() AND coalesce(h.leased_until <= now(), true) AS may_go
		FROM {outbox} h WHERE h.topic = o.topic AND h.lane = o.lane ORDER BY h.seq LIMIT 1) oldest ON true
	WHERE o.ready_at <= now() AND coalesce(o.leased_until <= now(), true) AND (o.lane IS NULL OR oldest.may_go)
	ORDER BY o.ready_at LIMIT $1
), picked AS (
	SELECT seq FROM ready WHERE lane IS NULL
	UNION ALL
	SELECT f.seq
	FROM (SELECT topic, lane, count(*) AS rows FROM ready WHERE lane IS NOT NULL GROUP BY topic, lane) l
	CROSS JOIN LATERAL (
		SELECT p.seq, bool_and(p.ready_at <= now() AND coalesce(p.leased_until <= now(), true)) OVER (ORDER BY p.seq) AS may_go
		FROM {outbox} p WHERE p.topic = l.topic AND p.lane = l.lane ORDER BY p.seq LIMIT l.rows) f
	WHERE f.may_go
), locked AS (
	SELECT seq FROM {outbox} WHERE seq = ANY(ARRAY(SELECT seq FROM picked)) FOR UPDATE SKIP LOCKED
)
UPDATE {outbox} o SET lease = $2, leased_until = now() + $3::interval, attempts = attempts + 1
FROM locked WHERE o.seq = locked.seq
RETURNING o.seq, o.id, o.topic, o.key, o.header_names, o.header_values, o.payload, o.attempts - 1`

	publishedSQL = `DELETE FROM {outbox} o USING unnest($1::bigint[], $2::text[]) AS done (seq, lease)
WHERE o.seq = done.seq AND o.lease = done.lease`

	postponedSQL = `UPDATE {outbox} o SET ready_at = clock_timestamp() + $3::interval, lease = NULL, leased_until = NULL
FROM unnest($1::bigint[], $2::text[]) AS back (seq, lease) WHERE o.seq = back.seq AND o.lease = back.lease`

	depthSQL = `SELECT count(*), coalesce(max(now() - due_at) FILTER (WHERE due_at <= now()), interval '0') FROM {outbox}`
)

// Emit implements [idem.Tx]. Rows are sent with the next statement, at the
// latest with COMMIT.
func (t *tx) Emit(_ context.Context, out ...idem.Outgoing) error {
	if err := t.endedByHandler(); err != nil {
		return err // before anything is written outside of the transaction
	}
	for _, o := range out {
		names, values := splitHeaders(o.Headers)
		t.later.Queue(t.store.sql.emit, text(o.ID), text(o.Topic), o.Key, lane(o.Key), names, values, o.Payload, max(o.Delay, 0))
		t.emits = true
	}
	return nil
}

func lane(key []byte) []byte {
	if len(key) <= 64 {
		return key
	}
	sum := sha256.Sum256(key)
	return sum[:]
}

// LeaseOutbox implements [idem.Outbox].
func (s *Store) LeaseOutbox(ctx context.Context, n int, lease time.Duration) ([]idem.OutboxRow, error) {
	if n <= 0 {
		return nil, nil
	}
	token := rand.Text()
	var rows []idem.OutboxRow
	err := s.run(ctx, "lease of outbox rows", func(b *pgx.Batch) {
		b.Queue(beforeLeaseSQL, s.names.lockID("outbox"))
		b.Queue(s.sql.lease, n, token, lease).Query(func(found pgx.Rows) (err error) {
			rows, err = pgx.CollectRows(found, scanOutboxRow)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Lease = token
	}
	slices.SortFunc(rows, func(a, b idem.OutboxRow) int { return int(a.Seq - b.Seq) })
	return rows, nil
}

// Published implements [idem.Outbox].
func (s *Store) Published(ctx context.Context, rows ...idem.OutboxRow) error {
	if len(rows) == 0 {
		return nil
	}
	seqs, leases := leasesOf(rows)
	return s.run(ctx, "removal of published outbox rows", func(b *pgx.Batch) {
		b.Queue(beforePublishedSQL)
		b.Queue(s.sql.published, seqs, leases)
	})
}

// Postponed implements [idem.Outbox].
func (s *Store) Postponed(ctx context.Context, delay time.Duration, rows ...idem.OutboxRow) error {
	if len(rows) == 0 {
		return nil
	}
	seqs, leases := leasesOf(rows)
	return s.run(ctx, "return of outbox rows", func(b *pgx.Batch) {
		b.Queue(beforePostponedSQL, s.names.lockID("outbox"))
		b.Queue(s.sql.postponed, seqs, leases, max(delay, 0))
	})
}

// OutboxDepth implements [idem.Outbox]. The age is that of the oldest row whose
// own delay is over, postponed or not.
func (s *Store) OutboxDepth(ctx context.Context) (rows int, oldest time.Duration, err error) {
	err = s.run(ctx, "count of outbox rows", func(b *pgx.Batch) {
		b.Queue(s.sql.depth).QueryRow(func(row pgx.Row) error { return row.Scan(&rows, &oldest) })
	})
	return rows, oldest, err
}

// OutboxWake implements [idem.Outbox]. The store has one channel: a value is
// received by one of several listeners.
func (s *Store) OutboxWake() <-chan struct{} { return s.wake }

// run sends a few statements as one transaction in one round trip.
func (s *Store) run(ctx context.Context, doing string, queue func(*pgx.Batch)) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	b := &pgx.Batch{}
	queue(b)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return storeError(doing, err)
	}
	return nil
}

func scanOutboxRow(row pgx.CollectableRow) (r idem.OutboxRow, err error) {
	var names []string
	var values [][]byte
	err = row.Scan(&r.Seq, &r.ID, &r.Topic, &r.Key, &names, &values, &r.Payload, &r.Attempts)
	r.ID, r.Topic, r.Headers = untext(r.ID), untext(r.Topic), joinHeaders(names, values)
	return r, err
}

func leasesOf(rows []idem.OutboxRow) (seqs []int64, leases []string) {
	for _, r := range rows {
		seqs, leases = append(seqs, r.Seq), append(leases, r.Lease)
	}
	return seqs, leases
}

// Headers are two arrays, so that names can be read and searched with psql and
// values are any bytes.
func splitHeaders(headers []idem.Header) (names []string, values [][]byte) {
	for _, h := range headers {
		names, values = append(names, text(h.Name)), append(values, h.Value)
	}
	return names, values
}

func joinHeaders(names []string, values [][]byte) []idem.Header {
	var headers []idem.Header
	for i := range min(len(names), len(values)) {
		headers = append(headers, idem.Header{Name: untext(names[i]), Value: values[i]})
	}
	return headers
}
