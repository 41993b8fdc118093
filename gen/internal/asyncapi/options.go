package asyncapi

import (
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// key reads a list of expressions, or one alone.
func (l *loader) key(n *source.Node, c *config) {
	items := []*source.Node{n}
	if n.Kind == source.List {
		if items = n.Items; len(items) == 0 {
			l.bad(n, expressionHint, "the key is empty")
		}
	}
	for _, item := range items {
		e, ok := l.expression(item)
		if !ok {
			continue
		}
		if slices.ContainsFunc(c.key, func(f expression) bool { return f.KeyPart == e.KeyPart }) {
			l.bad(item, "remove one", "the key has %s twice", show(item))
			continue
		}
		c.key = append(c.key, e)
	}
}

// fingerprint reads payload, none or a list of expressions.
func (l *loader) fingerprint(n *source.Node, c *config) {
	switch {
	case n.Kind == source.String && n.Text == "payload":
	case n.Kind == source.String && n.Text == "none":
		c.noFingerprint = true
	case n.Kind == source.List && len(n.Items) > 0:
		for _, item := range n.Items {
			if e, ok := l.payloadExpression(item); ok {
				c.fingerprint = append(c.fingerprint, e)
			}
		}
	default:
		l.bad(n, "use payload, none or a list of expressions such as [$message.payload#/amount]", "fingerprint cannot be %s", show(n))
	}
}

func (l *loader) retry(n *source.Node, c *config) {
	r := &c.retry
	l.options(n, "retry", map[string]func(*source.Node){
		"maxAttempts": func(v *source.Node) { r.MaxAttempts = l.integer(v, "maxAttempts", 1) },
		"quick": func(v *source.Node) {
			q := l.integer(v, "quick", 0)
			r.Quick = &q
		},
		"backoff": func(v *source.Node) { l.backoff(v, c) },
		"timeout": func(v *source.Node) { r.Timeout, _ = l.duration(v) },
		"onBug":   func(v *source.Node) { r.OnBug = l.choice(v, "onBug", "pause", "deadletter") },
	})
}

func (l *loader) transaction(n *source.Node, c *config) {
	c.transaction = l.choice(n, "transaction", model.Transactions()...)
}

func (l *loader) result(n *source.Node, c *config) {
	if n.Kind != source.Map && n.Kind != source.Bool {
		l.bad(n, "", "result must be a schema, is %s", show(n))
		return
	}
	c.result = n
}

// ordering reads key, none or an expression; which of them fits depends on the
// operation.
func (l *loader) ordering(n *source.Node, c *config) {
	switch {
	case n.Kind == source.String && (n.Text == "key" || n.Text == "none"):
		c.ordering = n.Text
	case n.Kind == source.String && len(n.Text) > 0 && n.Text[0] == '$':
		if e, ok := l.expression(n); ok {
			c.orderingKey = &e
		}
	default:
		l.problems.Addf(diag.BadOrdering, n.Pos, "use key or none to receive, an expression such as $message.payload#/orderId to send",
			"ordering cannot be %s", show(n))
	}
}

func (l *loader) deadLetter(n *source.Node, c *config) {
	if n.Kind == source.String && n.Text == "none" {
		c.deadLetter = "-"
		return
	}
	c.deadLetter = l.name(n, "deadLetter")
	if c.deadLetter == "-" {
		l.bad(n, "write none", "deadLetter cannot be \"-\"")
	}
}

func (l *loader) breaker(n *source.Node, c *config) {
	c.breaker = &model.Breaker{}
	l.options(n, "breaker", map[string]func(*source.Node){
		"failures": func(v *source.Node) { c.breaker.Failures = l.integer(v, "failures", 1) },
		"openFor":  func(v *source.Node) { c.breaker.OpenFor, _ = l.duration(v) },
		"probes":   func(v *source.Node) { c.breaker.Probes = l.integer(v, "probes", 1) },
	})
}

// emits reads a list of references; where they lead is looked at later.
func (l *loader) emits(n *source.Node, c *config) {
	if n.Kind != source.List {
		l.bad(n, "write [{$ref: '#/operations/…'}]", "emits must be a list of references, is %s", show(n))
		return
	}
	c.emits = []*source.Node{}
	for _, item := range n.Items {
		ref := item.Get("$ref")
		if ref == nil || ref.Kind != source.String {
			l.bad(item, "write {$ref: '#/operations/…'}", "emits must hold references, has %s", show(item))
			continue
		}
		c.emits = append(c.emits, ref)
	}
}

func (l *loader) logFields(n *source.Node, c *config) {
	if n.Kind != source.Map {
		l.bad(n, "write {order_id: $message.payload#/orderId}", "logFields must be an object, is %s", show(n))
		return
	}
	c.logFields = map[string]expression{}
	for _, f := range n.Fields {
		if !validName(f.Name) {
			l.problems.Addf(diag.BadName, f.NamePos, nameRule, "%q is not a name for a log field", clip(f.Name))
		}
		if f.Value.Kind == source.Null {
			continue
		}
		if e, ok := l.payloadExpression(f.Value); ok {
			c.logFields[f.Name] = e
		}
	}
}
