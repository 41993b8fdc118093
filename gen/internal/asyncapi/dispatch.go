package asyncapi

import (
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// rule says how the messages of a channel are told apart. It covers all of
// them: an operation that takes some of them still sees the others.
type rule struct {
	header, pointer string
	values          map[*message]string
}

// dispatch returns the rule for the messages of an operation; nil if there is
// nothing to tell apart, or after reporting that nothing does.
func (l *loader) dispatch(o *operation) *model.Dispatch {
	c := o.channel
	if len(c.messages) < 2 {
		return nil
	}
	if c.rule == nil {
		if c.rule = l.findRule(c); c.rule == nil {
			c.rule = &rule{}
			at := c.pos
			if f := c.def.Field("messages"); f != nil {
				at = f.NamePos
			}
			l.problems.Addf(diag.NoDiscriminator, at,
				"give each a required header or payload member with a const of its own, or set messageHeader in idemgen.yaml",
				"nothing tells the %d messages of channel %q apart", len(c.messages), c.id)
		}
	}
	if c.rule.values == nil {
		return nil
	}
	out := &model.Dispatch{Header: c.rule.header, Pointer: c.rule.pointer}
	taken := map[*message]bool{}
	for _, m := range o.messages {
		taken[m] = true
		out.Values = append(out.Values, c.rule.values[m])
	}
	for _, m := range c.messages {
		if !taken[m.message] {
			out.Others = append(out.Others, c.rule.values[m.message])
		}
	}
	return out
}

func (l *loader) findRule(c *channel) *rule {
	if r := l.byConst(c, "headers"); r != nil {
		return r
	}
	if r := l.byConst(c, "payload"); r != nil {
		return r
	}
	if l.opt.MessageHeader == "" {
		return nil
	}
	r := &rule{header: l.opt.MessageHeader, values: map[*message]string{}}
	for _, m := range c.messages {
		r.values[m.message] = m.message.name
	}
	return r
}

// byConst finds the first member that every message requires, with a text of
// its own each.
func (l *loader) byConst(c *channel, part string) *rule {
	consts := map[*message]map[string]string{}
	var names []string
	for i, m := range c.messages {
		n := m.message.all.Get(part)
		if n == nil {
			return nil
		}
		s := &constants{loader: l, values: map[string]string{}, required: map[string]bool{}, seen: map[*source.Node]bool{}}
		s.add(l.unwrapped(n))
		consts[m.message] = s.values
		for _, name := range s.names {
			if !s.required[name] {
				delete(s.values, name)
			} else if i == 0 {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names) // not by order in the document, which may change without meaning
	for _, name := range names {
		r := &rule{header: name, values: map[*message]string{}}
		if part == "payload" {
			r.header, r.pointer = "", "/"+source.Escape(name)
		}
		taken := map[string]*message{}
		for m, values := range consts {
			v, ok := values[name]
			if other := taken[v]; !ok || other != nil && other != m {
				r = nil
				break
			}
			taken[v], r.values[m] = m, v
		}
		if r != nil {
			return r
		}
	}
	return nil
}

// unwrapped is a schema without Multi Format wrapper; it reports nothing.
func (l *loader) unwrapped(n *source.Node) *source.Node {
	if d := l.quietly(n); d != nil && d.Get("schemaFormat") != nil {
		return d.Get("schema")
	}
	return n
}

func (l *loader) quietly(n *source.Node) *source.Node {
	if n == nil || n.Get("$ref") == nil {
		return n
	}
	return l.set.Deref(n) // what it reports is reported when the schema is read
}

// constants collects the members of a schema, and of what it is put together
// from, that can have one text only.
type constants struct {
	*loader
	values   map[string]string
	names    []string
	required map[string]bool
	seen     map[*source.Node]bool
}

func (s *constants) add(n *source.Node) {
	if n = s.quietly(n); n == nil || s.seen[n] {
		return
	}
	s.seen[n] = true
	if list := n.Get("required"); list != nil {
		for _, r := range list.Items {
			s.required[r.Text] = true
		}
	}
	if props := n.Get("properties"); props != nil {
		for _, f := range props.Fields {
			if v := only(s.quietly(f.Value)); v != nil {
				s.values[f.Name] = v.Text
				s.names = append(s.names, f.Name)
			}
		}
	}
	if all := n.Get("allOf"); all != nil {
		for _, part := range all.Items {
			s.add(part)
		}
	}
}

// only returns the one text that a schema allows, or nil.
func only(n *source.Node) *source.Node {
	if v := n.Get("const"); v != nil && v.Kind == source.String {
		return v
	}
	if e := n.Get("enum"); e != nil && len(e.Items) == 1 && e.Items[0].Kind == source.String {
		return e.Items[0]
	}
	return nil
}
