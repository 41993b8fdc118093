package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Each batch is one short transaction: that is how long the locks on its rows
// last, and a claim of one of these keys waits. Rows that somebody holds are
// left for the next time. Losing a batch in a crash means deleting it again, so
// nobody waits for the disk.
//
// Until vacuum comes, the index still leads to what was deleted before. So a
// batch begins at the time where the last one ended, and only after the last
// batch of a pass, which is not full, at the beginning again: that finds what
// was passed over.
const (
	sweepBatch    = 1000
	sweepAsyncSQL = `SELECT set_config('synchronous_commit', 'off', true)`
	sweepSQL      = `WITH gone AS (
	DELETE FROM {inbox} WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM {inbox} WHERE expires_at <= now() AND expires_at >= coalesce($2::timestamptz, '-infinity')
		ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
	RETURNING expires_at
) SELECT count(*), max(expires_at) FROM gone`
)

// Sweep implements [idem.Store]. Outbox rows need none: Published deletes them.
//
// On a table of 10 million rows, on two overloaded cores with fsync on, it
// removed 24,000 to 32,000 rows/s while 8 goroutines claimed new keys, in
// batches that hold their locks for 23 to 29 ms in the median; RETENTION.md has
// the figures, what they mean, and why the table is not partitioned.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	removed := 0
	for removed < limit {
		want, got := min(sweepBatch, limit-removed), 0
		from := s.sweptTo.Load()
		var to *time.Time
		err := s.run(ctx, "sweep", func(b *pgx.Batch) {
			b.Queue(sweepAsyncSQL)
			b.Queue(s.sql.sweep, want, from).QueryRow(func(row pgx.Row) error { return row.Scan(&got, &to) })
		})
		if err != nil {
			return removed, err
		}
		removed += got
		if got < want {
			s.sweptTo.Store(nil)
			if from == nil {
				return removed, nil
			}
			continue
		}
		s.sweptTo.Store(to)
	}
	return removed, nil
}
