package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Each batch is one short transaction: that is how long the locks on its rows
// last, and a claim of one of these keys waits. Rows that somebody holds are
// left for the next time. Losing a batch in a crash means deleting it again, so
// nobody waits for the disk.
const (
	sweepBatch    = 1000
	sweepAsyncSQL = `SELECT set_config('synchronous_commit', 'off', true)`
	sweepSQL      = `DELETE FROM {processed} WHERE ctid = ANY(ARRAY(
	SELECT ctid FROM {processed} WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))`
)

// Sweep implements [idem.Store]. Outbox rows need none: Published deletes them.
// RETENTION.md has the figures.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	removed := 0
	for removed < limit {
		want, got := min(sweepBatch, limit-removed), 0
		err := s.run(ctx, "sweep", func(b *pgx.Batch) {
			b.Queue(sweepAsyncSQL)
			b.Queue(s.sql.sweep, want).Exec(func(ct pgconn.CommandTag) error {
				got = int(ct.RowsAffected())
				return nil
			})
		})
		removed += got
		if err != nil || got < want {
			return removed, err
		}
	}
	return removed, nil
}
