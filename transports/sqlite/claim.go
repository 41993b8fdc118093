package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/idem-go/idem/transports/internal/queue"
)

func (b *backend) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Delivery, error) {
	g, ok, err := b.claimable(ctx, r)
	if err != nil || !ok {
		return nil, err
	}
	var out []queue.Delivery
	err = inTx(ctx, b.db, func(tx *sql.Tx) error {
		out, err = b.claim(ctx, tx, g, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claimable reports whether a claim may find something, without the turn that
// a claim has to wait for.
func (b *backend) claimable(ctx context.Context, r queue.ClaimRequest) (groupID int64, ok bool, err error) {
	err = b.stmts[claimable].QueryRowContext(ctx, r.Ordered, r.Topic, r.Group).Scan(&groupID, &ok)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return groupID, ok, err
}

func (b *backend) claim(ctx context.Context, tx *sql.Tx, g int64, r queue.ClaimRequest) ([]queue.Delivery, error) {
	if len(r.Held) > 0 {
		err := each(ctx, tx.StmtContext(ctx, b.stmts[extend]), r.Held,
			func(l queue.Lease) []any { return []any{millis(r.Lease), l.ID, l.Token} }, nil)
		if err != nil {
			return nil, err
		}
	}
	// What was leased or delayed goes back to where it belongs.
	if _, err := tx.StmtContext(ctx, b.stmts[promoteDue]).ExecContext(ctx, g); err != nil {
		return nil, err
	}
	token := rand.Text()
	out, err := b.read(ctx, tx, g, r, token)
	if err != nil {
		return nil, err
	}
	return out, each(ctx, tx.StmtContext(ctx, b.stmts[lease]), out,
		func(d queue.Delivery) []any { return []any{millis(r.Lease), token, d.ID, g} }, nil)
}

// read returns the oldest deliveries that may be claimed.
func (b *backend) read(ctx context.Context, tx *sql.Tx, g int64, r queue.ClaimRequest, token string) ([]queue.Delivery, error) {
	states := []int{1}
	if !r.Ordered {
		states = []int{0, 1}
	}
	var out []queue.Delivery
	for _, state := range states { // each is read in order, from its index
		rows, err := tx.StmtContext(ctx, b.stmts[readState]).QueryContext(ctx, g, state, r.N)
		if err != nil {
			return nil, err
		}
		out, err = scan(out, rows, queue.Lease{Group: r.Group, Token: token})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b queue.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(len(out), r.N)], nil
}

func scan(out []queue.Delivery, rows *sql.Rows, as queue.Lease) ([]queue.Delivery, error) {
	defer rows.Close()
	for rows.Next() {
		d := queue.Delivery{Lease: as}
		var enqueued int64
		var headers, key, payload []byte
		var noKey, noPayload bool
		if err := rows.Scan(&d.ID, &d.UUID, &enqueued, &headers, &key, &noKey, &payload, &noPayload, &d.Attempt); err != nil {
			return nil, err
		}
		d.Key, d.Payload = orEmpty(key, noKey), orEmpty(payload, noPayload)
		d.EnqueuedAt = time.UnixMilli(enqueued)
		var err error
		if d.Headers, err = decodeHeaders(headers); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// orEmpty undoes the driver's reading of an empty blob as nil.
func orEmpty(b []byte, null bool) []byte {
	if b == nil && !null {
		return []byte{}
	}
	return b
}

func (b *backend) NextDue(ctx context.Context, topic, group string) (time.Duration, bool, error) {
	var due sql.NullInt64
	err := b.stmts[nextDue].QueryRowContext(ctx, topic, group).Scan(&due)
	if err != nil || !due.Valid {
		return 0, false, err
	}
	return time.Duration(max(due.Int64, 0)) * time.Millisecond, true, nil
}
