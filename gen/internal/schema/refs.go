package schema

import (
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
	"github.com/idem-go/idem/gen/internal/source"
)

// target is the schema that n is or refers to, or nil after reporting what is
// wrong, as words beside $ref are, which have no meaning.
func (b *Builder) target(n *source.Node) *source.Node {
	if n.Get("$ref") != nil {
		for _, f := range n.Fields {
			if f.Name != "$ref" && f.Name != "description" && f.Name != "summary" && f.Name != "title" && !strings.HasPrefix(f.Name, "x-") {
				b.problems.Addf(diag.SchemaRef, f.NamePos, "write allOf: [{$ref: …}, {…}]", "%q beside $ref has no meaning", f.Name)
				return nil
			}
		}
	}
	return b.set.Deref(n)
}

// root makes the type of a place that has a name of its own.
func (b *Builder) root(n *source.Node, at place) made {
	target := b.target(n)
	if target == nil {
		return made{}
	}
	shared := b.refs[target]
	if shared != nil && !shared.done {
		return b.reference(n)
	}
	if target != n && !at.headers && names.Go(lastToken(target)) == at.name {
		m := b.reference(n)
		if m.ok {
			b.declare(b.final(m.t), at.name) // as lists are not, when others refer to them
		}
		return m
	}
	m := &made{t: &model.Type{}, nullable: b.mayBeNull(target), ok: true}
	b.refs[target] = m // a schema that refers to itself comes back to it
	got := b.schema(target, at)
	if b.refs[target] = shared; shared == nil {
		delete(b.refs, target)
	}
	return b.close(m, got, target, at.name)
}

// reference makes the type of a $ref: one for each target, however often and
// from wherever it is referred to.
func (b *Builder) reference(n *source.Node) made {
	target := b.target(n)
	if target == nil {
		return made{}
	}
	if m := b.refs[target]; m != nil {
		m.used = m.used || !m.done
		return *m
	}
	m := &made{t: &model.Type{}, nullable: b.mayBeNull(target), ok: true}
	b.refs[target] = m // a schema that refers to itself finds this
	name := names.Go(lastToken(target))
	*m = b.close(m, b.schema(target, place{name: name}), target, name)
	m.done = true
	return *m
}

// close says what a schema turned out to be, also to those that referred to it
// before, with m.
func (b *Builder) close(m *made, got made, n *source.Node, name string) made {
	switch {
	case !got.ok:
	case got.t == m.t:
		b.problems.Addf(diag.RefLoop, n.Pos, "say what it is", "the schema is nothing but a reference to itself")
		got.ok = false
	case m.used && got.nullable != m.nullable:
		b.problems.Addf(diag.SchemaType, n.Pos, "move it to where the schema is referred to: oneOf: [{$ref: …}, {type: 'null'}]",
			"null in a schema that refers to itself is supported beside type only")
		got.ok = false
	case m.used:
		b.became[m.t] = got.t
		if got.t.Kind == model.Array || got.t.Kind == model.MapOf {
			b.declare(got.t, name) // it contains itself
		}
	}
	return made{t: got.t, nullable: got.nullable, ok: got.ok}
}

// final is what a type turned out to be.
func (b *Builder) final(t *model.Type) *model.Type {
	for b.became[t] != nil {
		t = b.became[t]
	}
	return t
}

// settle makes a type refer to what others turned out to be.
func (b *Builder) settle(t *model.Type) {
	t.Elem, t.Extra = b.settled(t.Elem), b.settled(t.Extra)
	for _, f := range t.Fields {
		f.Type = b.settled(f.Type)
	}
}

// settled is what a part of a type turned out to be.
func (b *Builder) settled(t *model.Type) *model.Type {
	if t = b.final(t); t != nil && t.Name == "" { // else it is among types
		b.settle(t)
	}
	return t
}

// mayBeNull looks at a schema that is not built yet, once. Where it leads back to
// itself it adds nothing.
func (b *Builder) mayBeNull(n *source.Node) bool {
	if n = b.set.Deref(n); n == nil || n.Kind != source.Map {
		return false
	}
	null, known := b.nulls[n]
	if !known {
		b.nulls[n] = false
		null = b.saysNull(n)
		b.nulls[n] = null
	}
	return null
}

func (b *Builder) saysNull(n *source.Node) bool {
	if of := n.Get("oneOf"); of != nil {
		return slices.ContainsFunc(of.Items, b.mayBeNull)
	}
	t := n.Get("type")
	var k kinds
	switch {
	case t == nil:
		k = anyKind
	case t.Kind == source.List:
		for _, item := range t.Items {
			k |= kindsByName[item.Text]
			if item.Kind == source.Null {
				k |= nullKind
			}
		}
	default:
		k = kindsByName[t.Text]
	}
	if v := n.Get("nullable"); v != nil && v.Text == "true" {
		k |= nullKind
	}
	for _, name := range []string{"const", "enum"} {
		if f := n.Field(name); f != nil {
			k &= valueKinds(f)
		}
	}
	null := k&nullKind != 0
	if all := n.Get("allOf"); all != nil {
		null = null && !slices.ContainsFunc(all.Items, func(n *source.Node) bool { return !b.mayBeNull(n) })
	}
	return null
}

// lastToken is the name of a node in the object around it.
func lastToken(n *source.Node) string {
	_, token, found := cutLast(n.Path, "/")
	if !found {
		_, token, _ = cutLast("/"+n.File.Name, "/")
		token, _, _ = strings.Cut(token, ".")
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
