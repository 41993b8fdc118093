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
	got := b.schema(target, place{name: name})
	m.done = true
	switch {
	case !got.ok:
		m.ok = false
	case !m.used && got.t != m.t:
		m.t, m.nullable = got.t, got.nullable
	default:
		b.close(m, got, target, name)
	}
	return *m
}

// close makes the type that a schema which refers to itself has found in its place
// what the schema turned out to be.
func (b *Builder) close(m *made, got made, n *source.Node, name string) {
	m.ok = false
	switch {
	case got.t == m.t:
		b.problems.Addf(diag.RefLoop, n.Pos, "say what it is", "the schema is nothing but a reference to itself")
	case got.nullable != m.nullable:
		b.problems.Addf(diag.SchemaType, n.Pos, "move it to where the schema is referred to: oneOf: [{$ref: …}, {type: 'null'}]",
			"null in a schema that refers to itself is supported beside type only")
	default:
		m.ok = true
		b.adopt(m.t, got.t)
		if m.t.Kind == model.Array || m.t.Kind == model.MapOf {
			b.declare(m.t, name) // it contains itself
		}
	}
}

// adopt makes t what got is, so that whoever has t already sees it.
func (b *Builder) adopt(t, got *model.Type) {
	*t = *got
	b.moved[got] = t
	if i := slices.Index(b.types, got); i >= 0 {
		b.types[i] = t
	}
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
