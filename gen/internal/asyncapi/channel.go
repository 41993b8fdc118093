package asyncapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// channel is one whose definition was read.
type channel struct {
	id      string
	def     *source.Node
	address string // "" if there was something wrong
	pos     diag.Pos
	// messages by their keys, sorted.
	messages []channelMessage
	rule     *rule // how messages are told apart, once asked for
}

type channelMessage struct {
	key string
	// node is the member itself, message what it stands for.
	node    *source.Node
	message *message
}

func (l *loader) channelShape(n *source.Node) bool { return l.object(n, channelFields, nil) }

func (l *loader) allChannels() {
	for _, f := range l.members(l.root, "channels") {
		if def := l.set.Deref(f.Value); def != nil {
			l.channel(def, f.Name)
		}
	}
}

// channel reads a channel, once; nil if it is none.
func (l *loader) channel(def *source.Node, id string) *channel {
	if c, ok := l.channels[def]; ok {
		return c
	}
	l.channels[def] = nil
	if !l.channelShape(def) {
		return nil
	}
	c := &channel{id: id, def: def, pos: def.Pos}
	l.channels[def] = c
	c.address = l.address(def)
	for _, f := range l.members(def, "messages") {
		node := l.set.Deref(f.Value)
		if node == nil {
			continue
		}
		if m := l.message(node, f.Name, f.NamePos); m != nil {
			c.messages = append(c.messages, channelMessage{key: f.Name, node: f.Value, message: m})
		}
	}
	slices.SortFunc(c.messages, func(a, b channelMessage) int { return cmp.Compare(a.key, b.key) })
	return c
}

// address returns the topic of a channel, or "" after reporting why it is none.
func (l *loader) address(def *source.Node) string {
	n := def.Get("address")
	switch {
	case n == nil || n.Kind == source.Null:
		l.problems.Addf(diag.BadAddress, def.Pos, "add address: and the topic's name", "the channel has no address")
		return ""
	case n.Kind != source.String:
		l.problems.Addf(diag.WrongKind, n.Pos, "", "address must be a string, is %s", n.Kind)
		return ""
	case strings.ContainsAny(n.Text, "{}"):
		l.problems.Addf(diag.ChannelParameters, n.Pos, "write a channel for each topic", "address %s has parameters: a consumer reads one topic", show(n))
		return ""
	case !validName(n.Text):
		l.problems.Addf(diag.BadAddress, n.Pos, nameRule, "address %s cannot be a topic's name", show(n))
		return ""
	}
	if f := def.Field("parameters"); f != nil && len(f.Value.Fields) > 0 {
		l.problems.Addf(diag.ChannelParameters, f.NamePos, "remove them", "the channel has parameters that its address does not use")
	}
	return n.Text
}
