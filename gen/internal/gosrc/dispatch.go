package gosrc

import (
	"cmp"
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// topics collects the messages of each topic: an operation that takes some of
// them still sees the others.
func (l *loader) topics() {
	add := func(g *group, messages ...*message) {
		topic := g.text("topic")
		for _, m := range messages {
			if !slices.Contains(l.byTopic[topic], m) {
				l.byTopic[topic] = append(l.byTopic[topic], m)
			}
		}
	}
	for _, g := range l.operations {
		for _, d := range g.decls {
			add(g, l.message(d, nil))
		}
	}
	for _, g := range l.sends {
		add(g, l.sent(g)...)
	}
	for _, messages := range l.byTopic {
		slices.SortFunc(messages, func(a, b *message) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// dispatch finds what tells the messages of a topic apart: a constant in a
// header or at the top of the payload, else the header that the project names.
func (l *loader) dispatch(g *group, topic string, mine []*message) *model.Dispatch {
	all := l.byTopic[topic]
	if len(all) < 2 || slices.ContainsFunc(all, func(m *message) bool { return !m.known }) {
		return nil
	}
	rule := l.rules[topic]
	if rule == nil {
		rule = l.findRule(all)
		l.rules[topic] = rule
		if rule.values == nil {
			l.problems.Addf(diag.NoDispatch, g.first.pos, `give each a string field with another constant, such as idem:"const=…", or set messageHeader in idemgen.yaml`,
				"nothing tells the %d messages of topic %q apart", len(all), topic)
		}
	}
	if rule.values == nil {
		return nil
	}
	out := &model.Dispatch{Header: rule.header, Pointer: rule.pointer}
	for _, m := range mine {
		out.Values = append(out.Values, rule.values[m])
	}
	for _, m := range all {
		if !slices.Contains(mine, m) {
			out.Others = append(out.Others, rule.values[m])
		}
	}
	return out
}

// dispatchRule is what tells the messages of a topic apart; values is nil if
// nothing does.
type dispatchRule struct {
	header, pointer string
	values          map[*message]string
}

func (l *loader) findRule(all []*message) *dispatchRule {
	if name, values := constantOf(all, func(m *message) *model.Type { return m.Headers }); name != "" {
		return &dispatchRule{header: name, values: values}
	}
	if name, values := constantOf(all, func(m *message) *model.Type { return m.Payload }); name != "" {
		return &dispatchRule{pointer: pointerTo(name), values: values}
	}
	r := &dispatchRule{header: l.opt.MessageHeader}
	if r.header != "" {
		r.values = map[*message]string{}
		for _, m := range all {
			r.values[m] = m.Name
		}
	}
	return r
}

// constantOf finds a required member that is another text in each; the first
// by name.
func constantOf(messages []*message, of func(*message) *model.Type) (string, map[*message]string) {
	first := of(messages[0])
	if first == nil {
		return "", nil
	}
	names := members(first)
	slices.Sort(names)
candidates:
	for _, name := range names {
		values, taken := map[*message]string{}, map[string]bool{}
		for _, m := range messages {
			typ := of(m)
			if typ == nil {
				return "", nil
			}
			value, ok := onlyText(fieldOf(typ, name))
			if !ok || taken[value] {
				continue candidates
			}
			values[m], taken[value] = value, true
		}
		return name, values
	}
	return "", nil
}

// onlyText is the one text that a member can have.
func onlyText(f *model.Field) (string, bool) {
	switch {
	case f == nil || !f.Required || f.Nullable || f.Type.Kind != model.String:
		return "", false
	case f.Type.Const != "":
		text, err := unquoteJSON(f.Type.Const)
		return text, err == nil
	case len(f.Type.Enum) == 1:
		return f.Type.Enum[0].Value, true
	default:
		return "", false
	}
}
