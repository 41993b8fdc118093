package opsql

import (
	"context"
	"fmt"
	"strings"

	"github.com/idem-go/idem/framework/idem"
)

// Audit implements [idem.Operations].
func (o *Ops) Audit(ctx context.Context, tx idem.Tx, entries ...idem.AuditEntry) error {
	for _, e := range entries {
		_, err := o.exec(ctx, tx, "audit", `INSERT INTO {audit} (at, actor, action, reason, consumer, dead_letter, key, detail)
			VALUES ({now}, $1, $2, $3, $4, $5, $6, $7)`,
			clean(e.Actor), clean(e.Action), clean(e.Reason), clean(e.Consumer), clean(e.DeadLetter), []byte(e.Key), clean(e.Detail))
		if err != nil {
			return err
		}
	}
	return nil
}

// ListAudit implements [idem.Operations].
func (o *Ops) ListAudit(ctx context.Context, q idem.AuditQuery) ([]idem.AuditEntry, error) {
	var where []string
	var args []any
	for _, f := range []struct{ column, value string }{
		{"consumer", q.Consumer}, {"dead_letter", q.DeadLetter}, {"action", q.Action},
	} {
		if f.value != "" {
			args = append(args, clean(f.value))
			where = append(where, fmt.Sprintf("%s = $%d", f.column, len(args)))
		}
	}
	if q.Before > 0 {
		args = append(args, q.Before)
		where = append(where, fmt.Sprintf("seq < $%d", len(args)))
	}
	text := `SELECT seq, at, actor, action, reason, consumer, dead_letter, key, detail FROM {audit}`
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	args = append(args, atMost(q.Limit, 1000, 100))
	text += fmt.Sprintf(" ORDER BY seq DESC LIMIT $%d", len(args))
	return collect(ctx, o, "list of the audit", text, func(scan scanner) (e idem.AuditEntry, err error) {
		var at int64
		var key []byte
		err = scan(&e.Seq, &at, &e.Actor, &e.Action, &e.Reason, &e.Consumer, &e.DeadLetter, &key, &e.Detail)
		e.At, e.Key = micros(at), string(key)
		return e, err
	}, args...)
}
