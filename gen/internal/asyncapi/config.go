package asyncapi

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// config is an x-idempotency object, each value of the right kind.
type config struct {
	node *source.Node // nil if there is none

	scope         string
	key           []expression
	keyVersion    int
	ttl           time.Duration
	onMissingKey  string
	fingerprint   []expression
	noFingerprint bool
	onConflict    string
	retry         retry
	transaction   string
	result        *source.Node
	ordering      string // key, none or ""
	orderingKey   *expression
	deadLetter    string
	concurrency   int
	rate          float64
	dependency    string
	breaker       *model.Breaker
	emits         []*source.Node // each the value of a $ref
	logFields     map[string]expression
}

// retry is a model.Retry whose blanks can be filled in.
type retry struct{ model.Retry }

// withDefaults fills in what the library does without being told.
func (r *retry) withDefaults() {
	r.MaxAttempts = cmp.Or(r.MaxAttempts, 5)
	r.BackoffBase = cmp.Or(r.BackoffBase, 200*time.Millisecond)
	r.BackoffMax = cmp.Or(r.BackoffMax, 30*time.Second)
	r.BackoffFactor = cmp.Or(r.BackoffFactor, 2)
	r.Timeout = cmp.Or(r.Timeout, 30*time.Second)
}

// field returns where a value stands; the place of the whole if it is absent.
func (c *config) at(name string) diag.Pos {
	if v := c.node.Get(name); v != nil {
		return v.Pos
	}
	return c.node.Pos
}

func (c *config) has(name string) bool {
	v := c.node.Get(name)
	return v != nil && v.Kind != source.Null
}

// block checks the x-idempotency of an object on its own, whether or not
// something else overrides it.
func (l *loader) block(n *source.Node) {
	if x := n.Get(extension); x != nil && x.Kind != source.Null {
		l.decode(x)
	}
}

// decode reads an x-idempotency object and reports what is wrong in it.
func (l *loader) decode(n *source.Node) *config {
	c := &config{node: n}
	if n == nil {
		return c
	}
	l.options(n, extension, map[string]func(*source.Node){
		"scope":         func(v *source.Node) { c.scope = l.name(v, "scope") },
		"key":           func(v *source.Node) { l.key(v, c) },
		"keyVersion":    func(v *source.Node) { c.keyVersion = l.integer(v, "keyVersion", 1) },
		"ttl":           func(v *source.Node) { c.ttl, _ = l.duration(v) },
		"onMissingKey":  func(v *source.Node) { c.onMissingKey = l.choice(v, "onMissingKey", "deadletter", "fail", "derive") },
		"fingerprint":   func(v *source.Node) { l.fingerprint(v, c) },
		"onConflict":    func(v *source.Node) { c.onConflict = l.choice(v, "onConflict", "deadletter", "discard") },
		"retry":         func(v *source.Node) { l.retry(v, c) },
		"transaction":   func(v *source.Node) { l.transaction(v, c) },
		"result":        func(v *source.Node) { l.result(v, c) },
		"ordering":      func(v *source.Node) { l.ordering(v, c) },
		"deadLetter":    func(v *source.Node) { l.deadLetter(v, c) },
		"concurrency":   func(v *source.Node) { c.concurrency = l.integer(v, "concurrency", 1) },
		"ratePerSecond": func(v *source.Node) { c.rate = l.positive(v, "ratePerSecond") },
		"dependency":    func(v *source.Node) { c.dependency = l.name(v, "dependency") },
		"breaker":       func(v *source.Node) { l.breaker(v, c) },
		"emits":         func(v *source.Node) { l.emits(v, c) },
		"logFields":     func(v *source.Node) { l.logFields(v, c) },
	})
	return c
}

// options reads the members of an object that has the given ones only. One
// that is null is as good as absent.
func (l *loader) options(n *source.Node, what string, read map[string]func(*source.Node)) {
	if n.Kind != source.Map {
		l.bad(n, "", "%s must be an object, is %s", what, n.Kind)
		return
	}
	for _, f := range n.Fields {
		switch r := read[f.Name]; {
		case r == nil:
			names := slices.Sorted(maps.Keys(read))
			l.problems.Addf(diag.UnknownOption, f.NamePos, diag.Suggest(f.Name, names), "%s has no field %q", what, clip(f.Name))
		case f.Value.Kind != source.Null:
			r(f.Value)
		}
	}
}

func (l *loader) bad(n *source.Node, fix, format string, args ...any) {
	l.problems.Addf(diag.BadOption, n.Pos, fix, format, args...)
}

func (l *loader) choice(n *source.Node, what string, allowed ...string) string {
	if n.Kind == source.String && slices.Contains(allowed, n.Text) {
		return n.Text
	}
	l.bad(n, diag.Suggest(n.Text, allowed), "%s cannot be %s", what, show(n))
	return ""
}

func (l *loader) name(n *source.Node, what string) string {
	switch {
	case n.Kind != source.String:
		l.bad(n, "quote it if it is meant as text", "%s must be a string, is %s", what, n.Kind)
	case !validName(n.Text):
		l.problems.Addf(diag.BadName, n.Pos, nameRule, "%s %s is not a name", what, show(n))
	default:
		return n.Text
	}
	return ""
}

func (l *loader) integer(n *source.Node, what string, least int) int {
	v, err := strconv.Atoi(n.Text)
	if n.Kind != source.Int || err != nil || v < least || v > math.MaxInt32 {
		l.bad(n, "", "%s must be an integer of at least %d, is %s", what, least, show(n))
		return 0
	}
	return v
}

func (l *loader) number(n *source.Node, what string, least float64) float64 {
	v, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != source.Int && n.Kind != source.Float || err != nil || v < least {
		l.bad(n, "", "%s must be a number of at least %v, is %s", what, least, show(n))
		return 0
	}
	return v
}

func (l *loader) positive(n *source.Node, what string) float64 {
	v, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != source.Int && n.Kind != source.Float || err != nil || v <= 0 {
		l.bad(n, "leave it out for no limit", "%s must be a number above 0, is %s", what, show(n))
		return 0
	}
	return v
}
