package asyncapi

import (
	"cmp"
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// operation is one whose definition was read, of either action.
type operation struct {
	id       string
	idPos    diag.Pos
	def, all *source.Node // as it stands, and with its traits
	receive  bool
	channel  *channel
	messages []*message
}

type send struct {
	*operation
	model *model.Send
}

// operationShape checks the fields of an operation.
func (l *loader) operationShape(n *source.Node) bool {
	if !l.object(n, operationFields, withExtension) {
		return false
	}
	l.block(n)
	return true
}

// operations reads all of them, sorted by their names.
func (l *loader) operations() []*operation {
	var out []*operation
	fields := slices.Clone(l.members(l.root, "operations"))
	slices.SortFunc(fields, func(a, b source.Field) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range fields {
		def := l.set.Deref(f.Value)
		if def == nil {
			continue
		}
		if !l.operationShape(def) {
			l.broken[def] = true
			continue
		}
		if o := l.operation(def, f); o != nil {
			out = append(out, o)
		} else {
			l.broken[def] = true
		}
		if l.pairs > maxPairs {
			break
		}
	}
	if f := l.root.Field("operations"); len(fields) == 0 && (f == nil || f.Value.Kind == source.Map || f.Value.Kind == source.Null) {
		at := l.root.Pos
		if f != nil {
			at = f.NamePos
		}
		l.problems.Addf(diag.NoOperations, at, "add operations with action: receive or send", "the contract has no operations")
	}
	return out
}

// operation returns nil if there is too little of it to go on.
func (l *loader) operation(def *source.Node, f source.Field) *operation {
	o := &operation{id: f.Name, idPos: f.NamePos, def: def, all: l.withTraits(def, operationTraitFields)}
	if reply := o.all.Field("reply"); reply != nil && reply.Value.Kind != source.Null {
		l.problems.Addf(diag.ReplyUnsupported, reply.NamePos, "describe the reply as a send operation and list it in emits",
			"request and reply is not supported")
	}
	known := false
	if action := l.need(def, "action"); action != nil {
		known = action.Kind == source.String && (action.Text == "send" || action.Text == "receive")
		if !known {
			l.problems.Addf(diag.WrongKind, action.Pos, diag.Suggest(action.Text, []string{"send", "receive"}),
				"action must be send or receive, is %s", show(action))
		}
		o.receive = action.Text == "receive"
	}
	n := l.need(def, "channel")
	if n == nil {
		return nil
	}
	_, last := l.reference(n)
	if last == nil {
		return nil
	}
	if o.channel = l.channel(last, lastToken(last.Path)); o.channel == nil {
		return nil
	}
	if l.pairs += len(o.channel.messages); l.pairs > maxPairs {
		l.problems.Addf(diag.TooBig, o.idPos, "split the contract", "the operations have more than %d messages together", maxPairs)
		return nil
	}
	o.messages = l.operationMessages(o)
	if len(o.messages) == 0 || !known {
		return nil
	}
	return o
}

// operationMessages are those that it lists, or all of its channel.
func (l *loader) operationMessages(o *operation) []*message {
	var out []*message
	taken := map[*message]bool{}
	take := func(m *message) {
		taken[m] = true
		out = append(out, m)
	}
	list := o.def.Field("messages")
	if list == nil || list.Value.Kind == source.Null {
		for _, m := range o.channel.messages {
			if !taken[m.message] {
				take(m.message)
			}
		}
		if len(o.channel.members()) == 0 {
			l.problems.Addf(diag.NoMessages, o.channel.pos, "add messages:", "channel %q has no messages", o.channel.id)
		}
		return out
	}
	if list.Value.Kind == source.List && len(list.Value.Items) == 0 {
		l.problems.Addf(diag.NoMessages, list.Value.Pos, "list messages of the channel, or leave messages out to take all", "the operation has no messages")
	}
	for _, item := range l.items(o.def, "messages") {
		next, _ := l.reference(item)
		if next == nil {
			continue
		}
		i := slices.IndexFunc(o.channel.messages, func(m channelMessage) bool { return m.node == next })
		switch {
		case i < 0 && o.channel.has(next): // reported where it stands
		case i < 0:
			l.problems.Add(diag.Problem{
				Code: diag.BadMessageRef, Pos: item.Get("$ref").Pos,
				Message: show(item.Get("$ref")) + " is not a message of channel \"" + o.channel.id + "\"", Fix: o.channel.hint(),
				Related: []diag.Related{{Pos: o.channel.pos, Note: "the channel"}},
			})
		case taken[o.channel.messages[i].message]:
			l.problems.Addf(diag.BadMessageRef, item.Get("$ref").Pos, "remove one", "the message is listed twice")
		default:
			take(o.channel.messages[i].message)
		}
	}
	return out
}

// members are those of the definition, whether they can be read or not.
func (c *channel) members() []source.Field {
	if n := c.def.Get("messages"); n != nil {
		return n.Fields
	}
	return nil
}

func (c *channel) has(n *source.Node) bool {
	return slices.ContainsFunc(c.members(), func(f source.Field) bool { return f.Value == n })
}

// hint shows how to refer to a message of the channel.
func (c *channel) hint() string {
	if len(c.messages) == 0 {
		return "add it to the channel's messages"
	}
	m := c.messages[0]
	return "refer to one as '" + "#" + m.node.Path + "'"
}
