package opsql

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/idem-go/idem/framework/idem"
)

// SetControl implements [idem.Operations].
func (o *Ops) SetControl(ctx context.Context, tx idem.Tx, c idem.Control) error {
	paused := int64(0)
	if c.Paused {
		paused = 1
	}
	_, err := o.exec(ctx, tx, "control of consumer "+c.Consumer, `INSERT INTO {controls} AS c (consumer, paused, reason, actor, version, changed_at)
		VALUES ($1, $2, $3, $4, 1, {now})
		ON CONFLICT (consumer) DO UPDATE SET paused = excluded.paused, reason = excluded.reason, actor = excluded.actor,
			version = c.version + 1, changed_at = excluded.changed_at`,
		clean(c.Consumer), paused, clean(c.Reason), clean(c.Actor))
	return err
}

// ListControls implements [idem.Operations].
func (o *Ops) ListControls(ctx context.Context) ([]idem.Control, error) {
	return collect(ctx, o, "list of controls", `SELECT consumer, paused, reason, actor, version, changed_at FROM {controls} ORDER BY consumer`,
		func(scan scanner) (c idem.Control, err error) {
			var paused, at int64
			err = scan(&c.Consumer, &paused, &c.Reason, &c.Actor, &c.Version, &at)
			c.Paused, c.ChangedAt = paused != 0, micros(at)
			return c, err
		})
}

// Announce implements [idem.Operations].
func (o *Ops) Announce(ctx context.Context, ps ...idem.Presence) error {
	if len(ps) == 0 {
		return nil
	}
	return o.b.Write(ctx, "announce consumers", func(c Conn) error {
		for _, p := range ps {
			body, err := json.Marshal(p)
			if err != nil {
				return fmt.Errorf("presence of %s: %w", p.Consumer, err)
			}
			_, err = c.Exec(ctx, o.sql(`INSERT INTO {presence} (instance, consumer, body, seen_at) VALUES ($1, $2, $3, {now})
				ON CONFLICT (instance, consumer) DO UPDATE SET body = excluded.body, seen_at = excluded.seen_at`),
				clean(p.Instance), clean(p.Consumer), clean(string(body)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ListPresence implements [idem.Operations].
func (o *Ops) ListPresence(ctx context.Context) ([]idem.Presence, error) {
	return collect(ctx, o, "list of consumers", `SELECT body, seen_at, {now} - seen_at FROM {presence} ORDER BY consumer, instance`,
		func(scan scanner) (p idem.Presence, err error) {
			var body string
			var at, age int64
			if err = scan(&body, &at, &age); err != nil {
				return p, err
			}
			err = json.Unmarshal([]byte(body), &p)
			p.SeenAt, p.Age = micros(at), max(0, span(age))
			return p, err
		})
}
