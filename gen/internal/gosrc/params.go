package gosrc

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// paramReader sets the parameters of one operation.
type paramReader struct {
	*loader
	op       *model.Operation
	messages []*message
}

func (l *loader) bad(p param, fix, format string, args ...any) {
	l.problems.Addf(diag.BadParam, p.valuePos, fix, format, args...)
}

// set takes one parameter; those that make up the key are read together later.
func (r *paramReader) set(p param) {
	op := r.op
	switch p.name {
	case "summary":
		op.Summary = p.value
	case "description":
		op.Description = p.value
	case "scope":
		op.ScopeWritten = true
		r.name(p, &op.Scope)
	case "keyVersion":
		r.count(p, 1, &op.KeyVersion)
	case "ttl":
		r.duration(p, p.value, &op.Retention)
	case "onMissingKey":
		r.choice(p, &op.OnMissingKey, "deadletter", "fail", "derive")
	case "fingerprint":
		r.fingerprint(p)
	case "onConflict":
		r.choice(p, &op.OnConflict, "deadletter", "discard")
	case "maxAttempts":
		r.count(p, 1, &op.Retry.MaxAttempts)
	case "quick":
		op.Retry.Quick = new(int)
		r.count(p, 0, op.Retry.Quick)
	case "backoff":
		r.backoff(p)
	case "factor":
		if r.number(p, &op.Retry.BackoffFactor) && op.Retry.BackoffFactor < 1 {
			r.bad(p, "", "factor must be at least 1, is %s", p.value)
		}
	case "timeout":
		r.duration(p, p.value, &op.Retry.Timeout)
	case "onBug":
		r.choice(p, &op.Retry.OnBug, "pause", "deadletter")
	case "transaction":
		r.choice(p, &op.Transaction, model.Transactions()...)
	case "result":
		if d := r.typeNamed(p); d != nil {
			op.Result, _ = r.payload(d, "a result")
		}
	case "ordering":
		mode := ""
		r.choice(p, &mode, "key", "none")
		op.Unordered = mode == "none"
	case "deadLetter":
		if p.value == "none" {
			op.DeadLetterTopic = "-"
		} else {
			r.name(p, &op.DeadLetterTopic)
		}
	case "concurrency":
		r.count(p, 1, &op.Concurrency)
	case "ratePerSecond":
		r.number(p, &op.RatePerSecond)
	case "dependency":
		r.name(p, &op.Dependency)
	case "failures":
		r.count(p, 1, &r.breaker().Failures)
	case "openFor":
		r.duration(p, p.value, &r.breaker().OpenFor)
	case "probes":
		r.count(p, 1, &r.breaker().Probes)
	case "emits":
		r.emits(p)
	case "logFields":
		r.logFields(p)
	}
}

func (r *paramReader) breaker() *model.Breaker {
	if r.op.Breaker == nil {
		r.op.Breaker = &model.Breaker{}
	}
	return r.op.Breaker
}

func (r *paramReader) name(p param, to *string) {
	if !validName(p.value) {
		r.badName(p)
		return
	}
	*to = p.value
}

func (r *paramReader) choice(p param, to *string, of ...string) {
	switch {
	case slices.Contains(of, p.value):
		*to = p.value
	default:
		r.bad(p, diag.Suggest(p.value, of), "%s must be %s, is %q", p.name, strings.Join(of, " or "), p.value)
	}
}

// maxCount bounds what is counted: more is a slip of the keyboard.
const maxCount = 1_000_000

func (r *paramReader) count(p param, least int, to *int) {
	n, err := strconv.Atoi(p.value)
	if err != nil || n < least || n > maxCount {
		r.bad(p, "", "%s must be a number from %d to %d, is %q", p.name, least, maxCount, p.value)
		return
	}
	*to = n
}

func (r *paramReader) number(p param, to *float64) bool {
	n, err := strconv.ParseFloat(p.value, 64)
	if err != nil || n <= 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		r.bad(p, "", "%s must be a number above 0, is %q", p.name, p.value)
		return false
	}
	*to = n
	return true
}

func (r *paramReader) duration(p param, text string, to *time.Duration) bool {
	d, err := parseDuration(text)
	if err != nil || d <= 0 {
		r.bad(p, "write 200ms, 30s, 168h or 7d", "%s %q is not a duration above 0", p.name, text)
		return false
	}
	*to = d
	return true
}

// parseDuration reads a duration of Go, which may begin with days.
func parseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, errors.New("days must be a whole number")
	}
	var more time.Duration
	if rest != "" {
		if more, err = time.ParseDuration(rest); err != nil || more < 0 {
			return 0, errors.New("not a duration")
		}
	}
	return time.Duration(n)*24*time.Hour + more, nil
}

func (r *paramReader) backoff(p param) {
	base, most, ok := strings.Cut(p.value, "..")
	if !ok {
		r.bad(p, "write the first and the longest delay: 200ms..30s", "backoff %q is no range", p.value)
		return
	}
	var low, high time.Duration
	if !r.duration(p, base, &low) || !r.duration(p, most, &high) {
		return
	}
	if low > high {
		r.bad(p, "write the shorter one first", "backoff begins above its end")
		return
	}
	r.op.Retry.BackoffBase, r.op.Retry.BackoffMax = low, high
}

func (r *paramReader) fingerprint(p param) {
	switch p.value {
	case "payload":
		return
	case "none":
		r.op.Fingerprint.None = true
		return
	}
	for _, item := range p.list() {
		if part, ok := r.payloadExpression(item, item.value); ok {
			r.op.Fingerprint.Pointers = append(r.op.Fingerprint.Pointers, part)
		}
	}
}

func (r *paramReader) emits(p param) {
	var ids []string
	for _, s := range r.contract.Sends {
		ids = append(ids, s.ID)
	}
items:
	for _, item := range p.list() {
		for _, s := range r.contract.Sends {
			if s.ID == item.value {
				if slices.Contains(r.op.Emits, s) {
					r.bad(item, "remove one", "emits has %s twice", item.value)
				} else {
					r.op.Emits = append(r.op.Emits, s)
				}
				continue items
			}
		}
		r.problems.Addf(diag.UnknownGoName, item.valuePos, diag.Suggest(item.value, ids), "emits names %q, which no //idem:send declares", item.value)
	}
}

func (r *paramReader) logFields(p param) {
	for _, item := range p.list() {
		name, expr, ok := strings.Cut(item.value, ":")
		if !ok || name == "" {
			r.bad(item, "write logFields=pedido_id:pedidoId", "%q is not a name and a member", item.value)
			continue
		}
		if _, twice := r.op.LogFields[name]; twice {
			r.bad(item, "remove one", "logFields has %s twice", name)
			continue
		}
		if pointer, ok := r.payloadExpression(item, expr); ok {
			if r.op.LogFields == nil {
				r.op.LogFields = map[string]string{}
			}
			r.op.LogFields[name] = pointer
		}
	}
}
