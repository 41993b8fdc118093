package opsql

import (
	"fmt"
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Filter is a WHERE clause in the making.
type Filter struct {
	where []string
	args  []any
}

// And adds a condition; each ? in it is one of args.
func (f *Filter) And(condition string, args ...any) {
	var b strings.Builder
	for _, r := range condition {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		f.args = append(f.args, args[0])
		args = args[1:]
		fmt.Fprintf(&b, "$%d", len(f.args))
	}
	f.where = append(f.where, b.String())
}

// Where returns the clause, "" without a condition.
func (f *Filter) Where() string {
	if len(f.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.where, " AND ")
}

// Limit adds the number of rows as the last argument.
func (f *Filter) Limit(limit int) string {
	f.args = append(f.args, atMost(limit, 1000, 100))
	return fmt.Sprintf(" LIMIT $%d", len(f.args))
}

// Args are the arguments of the placeholders.
func (f *Filter) Args() []any { return f.args }

// Letters returns the conditions of a query but those of its page. Text and at
// encode what the store's columns hold.
func Letters(q idem.DeadLetterQuery, text func(string) string, at func(time.Time) any) *Filter {
	f := &Filter{}
	for _, c := range []struct{ column, value string }{
		{"consumer", q.Consumer}, {"topic", q.Topic}, {"reason", q.Reason}, {"class", string(q.Class)}, {"state", string(q.State)},
	} {
		if c.value != "" {
			f.And(c.column+" = ?", text(c.value))
		}
	}
	if q.Key != "" {
		f.And("key = ?", []byte(q.Key))
	}
	if !q.Since.IsZero() {
		f.And("last_failed >= ?", at(q.Since))
	}
	if !q.Until.IsZero() {
		f.And("last_failed < ?", at(q.Until))
	}
	if q.MinAttempts > 0 {
		f.And("attempts >= ?", q.MinAttempts)
	}
	if q.MaxAttempts > 0 {
		f.And("attempts <= ?", q.MaxAttempts)
	}
	if q.Text != "" {
		part := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(clean(q.Text))) + "%"
		f.And(`(lower(error) LIKE ? ESCAPE '\' OR lower(message_id) LIKE ? ESCAPE '\' OR lower(correlation_id) LIKE ? ESCAPE '\')`, part, part, part)
	}
	return f
}
