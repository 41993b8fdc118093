package asyncapi

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// duration reads a duration of more than zero: a Go duration that may have
// days, such as 7d or 1d12h.
func (l *loader) duration(n *source.Node) (time.Duration, bool) {
	var d time.Duration
	ok := n.Kind == source.String
	if ok {
		d, ok = parseDuration(n.Text)
	}
	switch {
	case !ok:
		l.problems.Addf(diag.BadDuration, n.Pos, durationHint(n), "%s is not a duration", show(n))
		return 0, false
	case d <= 0:
		l.problems.Addf(diag.BadDuration, n.Pos, "use a positive one, such as 30s", "duration %s must be more than zero", show(n))
		return 0, false
	}
	return d, true
}

const day = 24 * time.Hour

var withDays = regexp.MustCompile(`^(-?)([0-9]+)d(.*)$`)

func parseDuration(s string) (time.Duration, bool) {
	var days time.Duration
	if m := withDays.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[2])
		if err != nil || n > int(math.MaxInt64/day)-1 {
			return 0, false
		}
		days = time.Duration(n) * day
		if s = m[3]; s == "" {
			s = "0s"
		} else if s[0] == '-' || s[0] == '+' {
			return 0, false
		}
		if m[1] == "-" {
			days = -days
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || days > 0 && d > math.MaxInt64-days {
		return 0, false
	}
	return days + d, true
}

var (
	words = regexp.MustCompile(`(?i)^\s*([0-9]+(?:\.[0-9]+)?)\s*(w|d|h|m|min|s|sec|ms|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|milliseconds?|millis)\s*$`)
	iso   = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$`)
)

// durationHint says how to write what was probably meant.
func durationHint(n *source.Node) string {
	if n.Kind == source.Int {
		return "add the unit, such as " + clip(n.Text) + "s"
	}
	if d, ok := parseISO(n.Text); ok && d > 0 {
		return "use " + model.FormatDuration(d)
	}
	m := words.FindStringSubmatch(n.Text)
	if m == nil {
		return "use a number with a unit, such as 240h, 7d or 1h30m"
	}
	amount, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]time.Duration{"w": 7 * day, "d": day, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond}
	key := strings.ToLower(m[2])
	if strings.HasPrefix(key, "milli") || key == "ms" {
		key = "ms"
	} else {
		key = key[:1]
	}
	if v := amount * float64(unit[key]); err == nil && v >= 1 && v < 1<<62 {
		return "use " + model.FormatDuration(time.Duration(v))
	}
	return "use a number with a unit, such as 240h, 7d or 1h30m"
}

// parseISO reads an ISO 8601 duration without months and years.
func parseISO(s string) (time.Duration, bool) {
	m := iso.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return 0, false
	}
	var sum float64
	for i, unit := range []time.Duration{7 * day, day, time.Hour, time.Minute, time.Second} {
		if m[i+1] != "" {
			v, err := strconv.ParseFloat(strings.Replace(m[i+1], ",", ".", 1), 64)
			if err != nil {
				return 0, false
			}
			sum += v * float64(unit)
		}
	}
	if sum >= 1<<62 {
		return 0, false
	}
	return time.Duration(math.Round(sum)), true
}

// backoff reads "200ms..30s" or {base, max, factor}.
func (l *loader) backoff(n *source.Node, c *config) {
	r := &c.retry
	switch n.Kind {
	case source.String:
		base, limit, ok := strings.Cut(n.Text, "..")
		var okBase, okMax bool
		if r.BackoffBase, okBase = parseDuration(strings.TrimSpace(base)); ok && okBase {
			r.BackoffMax, okMax = parseDuration(strings.TrimSpace(limit))
		}
		if !okBase || !okMax || r.BackoffBase <= 0 || r.BackoffMax <= 0 {
			l.problems.Addf(diag.BadDuration, n.Pos, "write the shortest and the longest, such as 200ms..30s", "backoff %s is not a range of durations", show(n))
			r.BackoffBase, r.BackoffMax = 0, 0
			return
		}
	case source.Map:
		l.options(n, "backoff", map[string]func(*source.Node){
			"base":   func(v *source.Node) { r.BackoffBase, _ = l.duration(v) },
			"max":    func(v *source.Node) { r.BackoffMax, _ = l.duration(v) },
			"factor": func(v *source.Node) { r.BackoffFactor = l.number(v, "factor", 1) },
		})
	default:
		l.bad(n, "write 200ms..30s or {base: 200ms, max: 30s, factor: 2}", "backoff must be a range, is %s", show(n))
		return
	}
	b := *r
	b.withDefaults()
	if b.BackoffBase > b.BackoffMax {
		l.bad(n, fmt.Sprintf("the shortest is %s, the longest %s: swap them or set both", model.FormatDuration(b.BackoffBase), model.FormatDuration(b.BackoffMax)),
			"backoff begins with more than it ends with")
	}
}
