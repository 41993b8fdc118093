package gosrc

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
)

// buildOperations makes the operations.
func (l *loader) buildOperations() {
	defaults := l.defaults()
	scopes := map[string]diag.Pos{}
	for _, g := range l.operations {
		op := &model.Operation{
			ID: g.name, GoName: names.Go(g.name), Scope: g.name, Topic: l.topic(g),
			KeyVersion: 1, OnMissingKey: "deadletter", OnConflict: "deadletter", Transaction: "own",
			Pos: g.first.pos, Source: g.first.pos.File + "#" + g.name,
		}
		var messages []*message
		for _, d := range g.decls {
			m := l.message(d, nil)
			messages = append(messages, m)
			op.Messages = append(op.Messages, m.Message)
		}
		op.Dispatch = l.dispatch(g, op.Topic, messages)
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
		first := r.messages[0]
		if i > 0 && !slices.EqualFunc(r.types.ordered(m.Payload), r.types.ordered(first.Payload), func(a, b keyTag) bool { return a.pointer == b.pointer }) {
			r.problems.Add(diag.Problem{
				Code: diag.MessagesDiffer, Pos: m.Pos, Fix: "tag members of the same names, or name them in the directive: key=…",
				Message: m.GoName + " and " + first.GoName + " have other keys, and both are messages of " + g.name,
				Related: []diag.Related{{Pos: first.Pos, Note: "the other is here"}},
			})
			return
		}
	}
	if len(r.messages) > 0 {
		for _, k := range r.types.ordered(r.messages[0].Payload) {
			r.keyPart(model.KeyPart{Pointer: k.pointer}, param{name: "key", pos: k.pos, valuePos: k.pos})
		}
	}
	if len(r.op.Key) == 0 && !some { // what is wrong with headers has been said
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
	for _, m := range r.messages {
		r.declareHeader(m, part.Header)
	}
	if r.op.KeyPos.Line == 0 {
		r.op.KeyPos = at.pos
	}
	if r.required(at, part, r.messages, "a key") {
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
	if p, ok := g.get("deadLetter"); ok && (op.DeadLetterTopic == op.Topic || op.DeadLetterTopic == op.Topic+".retry."+op.Scope) {
		r.bad(p, "name another topic, or none", "dead letters of %s would come back to it", g.name)
	}
	if p, ok := g.get("ttl"); ok && op.Retention > 0 && op.Retention <= horizon(op.Retry) {
		r.bad(p, "raise ttl, or lower maxAttempts, backoff or timeout", "keys of %s are forgotten after %s, but retries may take %s", g.name, op.Retention, horizon(op.Retry))
	}
	for _, other := range r.contract.Operations {
		if other.Dependency == op.Dependency && other.Breaker != nil && op.Breaker != nil && *other.Breaker != *op.Breaker {
			r.repeated(g.first.pos, other.Pos, "dependency %s has two different breakers", op.Dependency)
		}
	}
	if len(op.Key) > 0 && r.constantKey() {
		r.problems.Addf(diag.BadGoPointer, g.first.pos, "add a field that differs from message to message", "the key of %s is a constant: only the first message would be handled", g.name)
	}
}

// horizon is how long the tries of one message may take, with the library's
// defaults for what is not said.
func horizon(r model.Retry) time.Duration {
	attempts, timeout := cmp.Or(r.MaxAttempts, 5), cmp.Or(r.Timeout, 30*time.Second)
	delay, most := float64(cmp.Or(r.BackoffBase, 200*time.Millisecond)), float64(cmp.Or(r.BackoffMax, 30*time.Second))
	sum := float64(attempts) * float64(timeout)
	for i := 1; i < attempts; i++ {
		if r.BackoffFactor == 1 || delay >= most {
			sum += min(delay, most) * float64(attempts-i)
			break
		}
		sum += delay
		delay *= cmp.Or(r.BackoffFactor, 2)
	}
	return time.Duration(min(sum, 1<<62)).Round(time.Millisecond)
}

// constantKey says whether some message has the same key always.
func (r *paramReader) constantKey() bool {
	return slices.ContainsFunc(r.messages, func(m *message) bool {
		return !slices.ContainsFunc(r.op.Key, func(k model.KeyPart) bool {
			var typ *model.Type
			if k.Pointer != "" {
				typ = r.follow(m, k.Pointer).typ
			} else if f := fieldOf(m.Headers, k.Header); f != nil {
				typ = f.Type
			}
			return typ == nil || typ.Const == "" && (len(typ.Enum) != 1 || typ.OpenEnum)
		})
	})
}
