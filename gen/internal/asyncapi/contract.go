package asyncapi

import (
	"cmp"
	"maps"
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
)

// contract makes the model of what was read. Messages come first, in the order
// of their names, so that the names of types do not depend on the order of the
// document; then what is sent, which the consumers refer to.
func (l *loader) contract(out *model.Contract, operations []*operation) {
	used := map[*message]bool{}
	for _, o := range operations {
		for _, m := range o.messages {
			used[m] = true
		}
	}
	messages := slices.Collect(maps.Keys(used))
	slices.SortFunc(messages, func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.name, b.name), a.namePos.Compare(b.namePos))
	})
	l.sameNames(messages)
	for _, m := range messages {
		l.build(m)
		out.Messages = append(out.Messages, m.model)
	}
	for _, o := range operations {
		if !o.receive {
			s := l.send(o)
			l.sends[o.def] = s
			out.Sends = append(out.Sends, s.model)
		}
	}
	var receives []*operation
	var configs []*config
	for _, o := range operations {
		if o.receive {
			m, c := l.receive(o)
			out.Operations = append(out.Operations, m)
			receives, configs = append(receives, o), append(configs, c)
		}
	}
	l.scopes(receives, out.Operations, configs)
	l.breakers(out.Operations, configs)
	out.Types = l.types.Types()
	names.Check(out, l.problems)
}

func models(messages []*message) []*model.Message {
	var out []*model.Message
	for _, m := range messages {
		out = append(out, m.model)
	}
	return out
}

// send makes the model of a send operation.
func (l *loader) send(o *operation) *send {
	s := &send{operation: o, model: &model.Send{
		ID: o.id, GoName: l.types.Name(o.id), Topic: o.channel.address, Messages: models(o.messages),
		Summary: cmp.Or(l.text(o.all, "summary"), l.text(o.all, "title")), Description: l.text(o.all, "description"),
		Pos: o.idPos, Source: o.def.Source(),
	}}
	s.model.Dispatch = l.dispatch(o)
	for _, name := range []string{"retry", "deadLetter"} {
		if f := o.all.Field(name); f != nil {
			l.problems.Addf(diag.ProposalPart, f.NamePos, "move it to the receive operation", "%s has no meaning on a send operation", name)
		}
	}
	x := o.all.Get(extension)
	c := l.decode(x)
	if x == nil {
		return s
	}
	for _, f := range x.Fields {
		if f.Name != "ordering" && slices.Contains(optionNames, f.Name) {
			l.problems.Addf(diag.OptionOfReceive, f.NamePos, "move it to the receive operation, or to a trait that only those have",
				"%s has no meaning on a send operation", f.Name)
		}
	}
	switch {
	case c.ordering != "":
		l.problems.Addf(diag.BadOrdering, c.at("ordering"), "use an expression such as $message.payload#/orderId, or leave it out for the key of the message being handled",
			"a send operation cannot have ordering %s", c.ordering)
	case c.orderingKey != nil:
		l.checkKey(o, []expression{*c.orderingKey})
		part := c.orderingKey.KeyPart
		s.model.OrderingKey = &part
	}
	return s
}

// receive makes the model of a consumer.
func (l *loader) receive(o *operation) (*model.Operation, *config) {
	c := l.effective(o)
	out := &model.Operation{
		ID: o.id, GoName: l.types.Name(o.id), Topic: o.channel.address, Messages: models(o.messages),
		Summary: cmp.Or(l.text(o.all, "summary"), l.text(o.all, "title")), Description: l.text(o.all, "description"),
		Scope: cmp.Or(c.scope, o.id), ScopeWritten: c.scope != "", KeyVersion: max(c.keyVersion, 1),
		OnMissingKey: cmp.Or(c.onMissingKey, "deadletter"), OnConflict: cmp.Or(c.onConflict, "deadletter"),
		Fingerprint: model.Fingerprint{None: c.noFingerprint},
		Retention:   c.ttl, Retry: c.retry.Retry, Transaction: cmp.Or(c.transaction, "own"),
		Unordered: c.ordering == "none", DeadLetterTopic: c.deadLetter,
		Concurrency: c.concurrency, RatePerSecond: c.rate, Dependency: c.dependency, Breaker: c.breaker,
		Pos: o.idPos, Source: o.def.Source(),
	}
	out.Dispatch = l.dispatch(o)
	for _, e := range c.key {
		out.Key = append(out.Key, e.KeyPart)
	}
	if c.has("key") {
		out.KeyPos = c.at("key")
		l.checkKey(o, c.key)
	} else {
		l.problems.Addf(diag.NoKey, o.idPos, "add x-idempotency: {key: [$message.payload#/…]} with a value that the producer gives each message",
			"operation %q has no idempotency key", o.id)
	}
	for _, e := range c.fingerprint {
		l.checkPath(o, e)
		out.Fingerprint.Pointers = append(out.Fingerprint.Pointers, e.Pointer)
	}
	for name, e := range c.logFields {
		l.checkPath(o, e)
		if out.LogFields == nil {
			out.LogFields = map[string]string{}
		}
		out.LogFields[name] = e.Pointer
	}
	l.checkReceive(o, c, out)
	if c.result != nil && out.Transaction == "external" {
		out.Result = l.types.Payload(c.result, out.GoName+"Result")
	}
	out.Emits = l.emitted(c)
	return out, c
}

// emitted are the sends that a consumer may use.
func (l *loader) emitted(c *config) []*model.Send {
	if c.emits == nil {
		return nil
	}
	out := []*model.Send{}
	for _, ref := range c.emits {
		n := l.set.Target(ref)
		if n != nil {
			n = l.set.Deref(n)
		}
		if n == nil {
			continue
		}
		s := l.sends[n]
		switch {
		case s != nil && slices.Contains(out, s.model):
			l.problems.Addf(diag.BadEmit, ref.Pos, "remove one", "%s is listed twice", show(ref))
		case s != nil:
			out = append(out, s.model)
		case l.broken[n]: // reported
		case n.Get("action") != nil && n.Get("action").Text == "receive":
			l.problems.Addf(diag.BadEmit, ref.Pos, "refer to an operation with action: send", "%s is a receive operation", show(ref))
		case n.Get("action") == nil || n.Get("action").Text != "send" || n.File != l.root.File:
			l.problems.Addf(diag.BadEmit, ref.Pos, "refer to a send operation of this document as '#/operations/…'", "%s is not an operation of this document", show(ref))
		}
	}
	return out
}
