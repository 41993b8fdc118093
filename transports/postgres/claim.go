package postgres

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/transports/internal/queue"
)

// wideScan is how many due deliveries an ordered claim looks at when the first
// N did not yield N, and therefore how many of one key it parks in a transaction.
const wideScan = 128

func (b *backend) Claim(ctx context.Context, req queue.ClaimRequest) ([]queue.Delivery, error) {
	group, err := b.group(ctx, req.Topic, req.Group)
	if err != nil {
		return nil, err
	}
	if req.Ordered {
		return b.claimOrdered(ctx, group, req)
	}
	out, err := b.claim(ctx, b.sql.claim, group, req)
	if err == nil && len(out) == 0 {
		// Parked by an ordered claim before the group changed its mind.
		out, err = b.claim(ctx, b.sql.claimParked, group, req)
	}
	return out, err
}

func (b *backend) claim(ctx context.Context, statement string, group int32, req queue.ClaimRequest) (out []queue.Delivery, err error) {
	token := watermill.NewUUID()
	err = b.pipeline(ctx, func(batch *pgx.Batch) {
		batch.Queue(settings)
		batch.Queue(statement, group, req.N, req.Lease, token).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				d := queue.Delivery{Lease: queue.Lease{Group: req.Group, Token: token}}
				var headers [][]byte
				if err := rows.Scan(&d.ID, &d.Attempt, &d.UUID, &d.Key, &headers, &d.Payload, &d.EnqueuedAt); err != nil {
					return err
				}
				d.Headers = decodeHeaders(headers)
				out = append(out, d)
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claimOrdered looks at N deliveries, which is enough unless keys repeat, and
// if it was not, further. It goes on without result only while it parks.
func (b *backend) claimOrdered(ctx context.Context, group int32, req queue.ClaimRequest) ([]queue.Delivery, error) {
	out, r, err := b.claimRound(ctx, group, req, req.N, nil)
	if err != nil || len(out) == req.N || r.due < req.N {
		return out, err
	}
	lane := int64(rand.Uint64()) // lanes are hashes
	scan := max(wideScan, 2*req.N)
	req.N -= len(out)
	for {
		more, r, err := b.claimRound(ctx, group, req, scan, &lane)
		out = append(out, more...)
		switch {
		case len(out) > 0: // even after an error: these are leased
			return out, nil
		case err != nil || r.due < scan || r.parked == 0:
			return nil, err
		case r.next != nil:
			lane = *r.next
		default:
			lane = math.MinInt64
		}
	}
}

// round is what one look saw.
type round struct {
	// due deliveries are at most as many as were looked at.
	due, parked int
	// next is the lane to go on from, nil after the last.
	next *int64
}

// claimRound looks at scan due deliveries, and unless lane is nil at the first
// of one lane after another.
func (b *backend) claimRound(ctx context.Context, group int32, req queue.ClaimRequest, scan int, lane *int64) (out []queue.Delivery, r round, err error) {
	token := watermill.NewUUID()
	err = b.pipeline(ctx, func(batch *pgx.Batch) {
		batch.Queue(settings)
		batch.Queue(b.sql.lockClaims, group)
		batch.Queue(b.sql.claimOrdered, group, req.N, req.Lease, token, scan, lane).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var (
					id      *int64
					attempt *int
					uuid    *string
					at      *time.Time
					headers [][]byte
					d       = queue.Delivery{Lease: queue.Lease{Group: req.Group, Token: token}}
				)
				if err := rows.Scan(&r.due, &r.parked, &r.next, &id, &attempt, &uuid, &d.Key, &headers, &d.Payload, &at); err != nil {
					return err
				}
				if id == nil {
					continue
				}
				d.ID, d.Attempt, d.UUID, d.EnqueuedAt = *id, *attempt, *uuid, *at
				d.Headers = decodeHeaders(headers)
				out = append(out, d)
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, round{}, err
	}
	return out, r, nil
}

func (b *backend) Ack(ctx context.Context, leases ...queue.Lease) error {
	if len(leases) == 0 {
		return nil
	}
	ids, tokens := columns(leases)
	return b.pipeline(ctx, func(batch *pgx.Batch) {
		batch.Queue(settings)
		batch.Queue(b.sql.ack, ids, tokens)
	})
}

func (b *backend) Release(ctx context.Context, releases ...queue.Release) error {
	if len(releases) == 0 {
		return nil
	}
	leases := make([]queue.Lease, len(releases))
	after := make([]float64, len(releases))
	counted := make([]bool, len(releases))
	for i, r := range releases {
		leases[i], after[i], counted[i] = r.Lease, r.After.Seconds(), r.Counted
	}
	ids, tokens := columns(leases)
	var topics []string
	err := b.pipeline(ctx, func(batch *pgx.Batch) {
		batch.Queue(settings)
		batch.Queue(b.sql.release, ids, tokens, after, counted).Query(func(rows pgx.Rows) (err error) {
			topics, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, topic := range topics { // others must learn of it: this process may be going down
		b.wake(topic)
	}
	return nil
}

func (b *backend) Extend(ctx context.Context, d time.Duration, leases ...queue.Lease) (lost []queue.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	ids, tokens := columns(leases)
	gone := make(map[queue.Lease]bool)
	err = b.pipeline(ctx, func(batch *pgx.Batch) {
		batch.Queue(settings)
		batch.Queue(b.sql.extend, ids, tokens, d).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var l queue.Lease
				if err := rows.Scan(&l.ID, &l.Token); err != nil {
					return err
				}
				gone[l] = true
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	for _, l := range leases {
		if gone[queue.Lease{ID: l.ID, Token: l.Token}] {
			lost = append(lost, l)
		}
	}
	return lost, nil
}

func columns(leases []queue.Lease) (ids []int64, tokens []string) {
	for _, l := range leases {
		ids, tokens = append(ids, l.ID), append(tokens, l.Token)
	}
	return ids, tokens
}
