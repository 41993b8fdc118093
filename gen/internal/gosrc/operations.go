package gosrc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// buildOperations makes the operations.
func (l *loader) buildOperations() {
	defaults := l.defaults()
	scopes := map[string]diag.Pos{}
	for _, g := range l.operations {
		op := &model.Operation{
			ID: g.name, GoName: exported(g.name), Scope: g.name, Topic: l.topic(g),
			KeyVersion: 1, OnMissingKey: "deadletter", OnConflict: "deadletter", Transaction: "own",
			Pos: g.first.pos, Source: g.first.pos.File + "#" + g.name,
		}
		var messages []*message
		for _, d := range g.decls {
			m := l.message(d, nil)
			messages = append(messages, m)
			op.Messages = append(op.Messages, m.Message)
		}
		op.Dispatch = l.dispatch(g, messages)
		r := &paramReader{loader: l, op: op, messages: messages}
		for _, p := range g.params {
			r.set(p)
		}
		for _, p := range defaults {
			if _, own := g.get(p.name); !own {
				r.set(p)
			}
		}
		r.key(g)
		r.together(g)
		if other, taken := scopes[op.Scope]; taken {
			l.taken(g.first.pos, other, "two operations have scope %q, and would take each other's messages for done", op.Scope)
		}
		scopes[op.Scope] = g.first.pos
		l.contract.Operations = append(l.contract.Operations, op)
	}
}

// key finds the operation's key: a list of its own, or headers and the fields
// that are tagged.
func (r *paramReader) key(g *group) {
	list, own := g.get("key")
	headers, some := g.get("headerKey")
	if own {
		if some {
			r.repeated(headers.pos, list.pos, "key and headerKey are both given")
		}
		for _, item := range list.list() {
			if part, ok := r.expression(item, item.value); ok {
				r.keyPart(part, item)
			}
		}
		return
	}
	if some {
		for _, item := range headers.list() {
			r.keyPart(model.KeyPart{Header: item.value}, item)
		}
	}
	for i, m := range r.messages {
		if !m.known {
			return
		}
		tags := r.types.ordered(m.Payload)
		if i == 0 {
			for _, k := range tags {
				r.keyPart(model.KeyPart{Pointer: k.pointer}, param{name: "key", valuePos: k.pos})
			}
			continue
		}
		first := r.types.ordered(r.messages[0].Payload)
		if !slices.EqualFunc(tags, first, func(a, b keyTag) bool { return a.pointer == b.pointer }) {
			r.problems.Add(diag.Problem{
				Code: diag.MessagesDiffer, Pos: m.Pos, Fix: "tag members of the same names, or name them in the directive: key=…",
				Message: m.GoName + " and " + r.messages[0].GoName + " have other keys, and both are messages of " + g.name,
				Related: []diag.Related{{Pos: r.messages[0].Pos, Note: "the other is here"}},
			})
			return
		}
	}
	if len(r.op.Key) == 0 && !some {
		r.problems.Addf(diag.NoGoKey, g.first.pos, `tag the field that names the message with idem:"key", or add headerKey=…`, "operation %s has no idempotency key", g.name)
	}
}

// keyPart adds a part that is in every message.
func (r *paramReader) keyPart(part model.KeyPart, at param) {
	if part.Header != "" && !validHeader(part.Header) {
		r.bad(at, "", "%q is not the name of a header", part.Header)
		return
	}
	if slices.Contains(r.op.Key, part) {
		r.bad(at, "remove one", "the key has %s twice", cmp.Or(part.Header, part.Pointer))
		return
	}
	if r.requiredIn(at, part) {
		r.op.Key = append(r.op.Key, part)
	}
}

// ordered are the key tags of a type in their order.
func (t *typeReader) ordered(typ *model.Type) []keyTag {
	tags := slices.Clone(t.keys[typ])
	slices.SortStableFunc(tags, func(a, b keyTag) int { return cmp.Compare(a.order, b.order) })
	return tags
}

// checkKeys reports key tags that say nothing, or not in which order.
func (t *typeReader) checkKeys(messages []*model.Message) {
	for typ, tags := range t.keys {
		if !slices.ContainsFunc(messages, func(m *model.Message) bool { return m.Payload == typ }) {
			for _, k := range tags {
				t.problems.Addf(diag.LostKey, k.pos, "name it in the directive instead: key=/order"+k.pointer, "the key tag has no effect, since %s is no message", typ.Name)
			}
			continue
		}
		seen := map[int]bool{}
		for _, k := range tags {
			switch {
			case (k.order == 0) != (tags[0].order == 0):
				t.problems.Addf(diag.LostKey, k.pos, "number all of them: key=1, key=2 …", "some key tags of %s have a number and some have none", typ.Name)
			case k.order > 0 && seen[k.order]:
				t.problems.Addf(diag.LostKey, k.pos, "number them 1, 2 …", "two key tags of %s have number %d", typ.Name, k.order)
			}
			seen[k.order] = true
		}
	}
}

// together checks what parameters mean for each other.
func (r *paramReader) together(g *group) {
	op := r.op
	need := func(name, other string) {
		if p, ok := g.get(name); ok {
			r.problems.Addf(diag.MissingParam, p.pos, "add "+other, "%s has no effect without %s", name, strings.TrimSuffix(other, "=…"))
		}
	}
	if op.Transaction != "external" {
		need("result", "transaction=external")
	}
	if op.Dependency == "" {
		for _, name := range []string{"failures", "openFor", "probes"} {
			need(name, "dependency=…")
		}
	}
	if op.Retry.BackoffBase == 0 {
		need("factor", "backoff=…")
	}
	if op.DeadLetterTopic == op.Topic && op.Topic != "" {
		p, _ := g.get("deadLetter")
		r.bad(p, "name another topic", "dead letters would come back for ever")
	}
}
