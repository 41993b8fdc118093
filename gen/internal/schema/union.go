package schema

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
	"github.com/idem-go/idem/gen/internal/source"
)

// branch is one schema of a oneOf.
type branch struct {
	node *source.Node
	t    *model.Type
	ref  string // Go name of what it refers to; "" if it is written here
}

// union makes the type of a oneOf: of one schema beside null, that one.
func (b *Builder) union(sh *shape, at place) made {
	list := sh.oneOf.Value
	if list.Kind != source.List || len(list.Items) == 0 {
		b.wrongKind(sh.oneOf, "a list of schemas")
		return made{}
	}
	for _, f := range sh.rules {
		if f.Name != "oneOf" && f.Name != "discriminator" {
			b.problems.Addf(diag.SchemaUnion, f.NamePos, "write it into each schema of oneOf", "%s beside oneOf is not supported", f.Name)
			return made{}
		}
	}
	var branches []*source.Node
	nullable := false
	for _, item := range list.Items {
		if isNull(item) {
			if nullable {
				b.nullTwice(item.Pos)
				return made{}
			}
			nullable = true
			continue
		}
		branches = append(branches, item)
	}
	switch len(branches) {
	case 0:
		b.problems.Addf(diag.SchemaUnion, sh.oneOf.NamePos, "", "oneOf has no schema but null")
		return made{}
	case 1:
		m := b.schema(branches[0], at)
		if m.ok && m.nullable && nullable {
			b.nullTwice(sh.oneOf.NamePos)
			return made{}
		}
		m.nullable = m.nullable || nullable
		if m.ok {
			b.later = append(b.later, func() {
				t := b.final(m.t)
				if nullable && t.Kind == model.Raw {
					b.nullTwice(sh.oneOf.NamePos)
				}
				b.within(sh, t, m.nullable, branches[0])
			})
		}
		return made{t: m.t, nullable: m.nullable, ok: m.ok}
	}
	t := b.start(sh.node, at, model.Union)
	t.Description = sh.description
	b.declare(t, at.name)
	var made1 []branch
	for i, item := range branches {
		part := branch{node: item}
		where := at.within("Option" + strconv.Itoa(i+1))
		if target := b.set.Deref(item); target != nil && target != item {
			part.ref = names.Go(lastToken(target))
		} else if title := item.Get("title"); title != nil && title.Kind == source.String {
			where = at.within(names.Go(title.Text))
			part.ref = names.Go(title.Text)
		}
		m := b.schema(item, where)
		if !m.ok {
			return made{}
		}
		if m.nullable {
			b.problems.Addf(diag.SchemaUnion, item.Pos, "put {type: 'null'} into the list instead", "a schema of oneOf must not allow null by itself")
			return made{}
		}
		part.t = m.t
		made1 = append(made1, part)
	}
	b.later = append(b.later, func() { // an alternative may be what we are part of
		for i := range made1 {
			p := &made1[i]
			if p.t = b.settled(p.t); !b.within(sh, p.t, nullable, p.node) {
				return
			}
		}
		if slices.ContainsFunc(made1, func(p branch) bool { return p.t.Kind != model.Object }) {
			b.byKind(t, sh, made1)
		} else {
			b.byConstant(t, sh, made1)
		}
	})
	return made{t: t, nullable: nullable, ok: true}
}

func (b *Builder) nullTwice(at diag.Pos) {
	b.problems.Addf(diag.SchemaUnion, at, "leave null out of one of them", "null fits two schemas of oneOf, which refuses it")
}

// isNull reports whether a schema is {type: 'null'}.
func isNull(n *source.Node) bool {
	t := n.Get("type")
	if t == nil || t.Kind != source.Null && t.Text != "null" {
		return false
	}
	for _, f := range n.Fields {
		if f.Name != "type" && keywords()[f.Name].support != annotation {
			return false
		}
	}
	return true
}

// within checks that the type beside oneOf allows what an alternative does; a null
// that only the one or the other allows is not what it seems.
func (b *Builder) within(sh *shape, t *model.Type, nullable bool, n *source.Node) bool {
	switch k := kindsOf(t); {
	case !sh.typed:
	case k&^sh.kinds != 0:
		b.problems.Add(diag.Problem{
			Code: diag.SchemaUnion, Pos: n.Pos, Message: "the alternative is not of the type beside oneOf", Fix: "make them agree, or remove the type",
			Related: []diag.Related{{Pos: sh.typePos, Note: "the type"}},
		})
		return false
	case nullable != (sh.kinds&nullKind != 0):
		b.problems.Addf(diag.SchemaUnion, sh.typePos, "let both allow it, or remove the type", "null must be allowed by the type and by a schema of oneOf")
		return false
	}
	return true
}

// byKind tells alternatives apart by their JSON types.
func (b *Builder) byKind(t *model.Type, sh *shape, parts []branch) {
	if sh.disc != nil {
		b.problems.Addf(diag.SchemaUnion, sh.disc.NamePos, "remove it", "a discriminator needs objects in oneOf")
		return
	}
	names := map[string]string{"text": "Text", "number": "Number", "boolean": "Bool", "object": "Object", "list": "List"}
	seen := map[string]bool{}
	for _, p := range parts {
		kind := map[model.Kind]string{
			model.String: "text", model.Int: "number", model.Float: "number", model.Bool: "boolean",
			model.Object: "object", model.MapOf: "object", model.Array: "list",
		}[p.t.Kind]
		if kind == "" || seen[kind] {
			b.problems.Addf(diag.SchemaUnion, p.node.Pos, "use objects that each require a member with a constant of its own",
				"the alternatives cannot be told apart: they are neither of different JSON types nor objects with a discriminator")
			return
		}
		seen[kind] = true
		t.Variants = append(t.Variants, &model.Variant{GoName: names[kind], Type: p.t})
	}
}

// byConstant tells objects apart by a member that has a constant in each.
func (b *Builder) byConstant(t *model.Type, sh *shape, parts []branch) {
	name, at := "", sh.oneOf.NamePos
	if sh.disc != nil {
		d := sh.disc.Value
		if d.Kind == source.Map {
			if m := d.Field("mapping"); m != nil {
				b.problems.Addf(diag.SchemaUnion, m.NamePos, "give the member a const in each schema", "mapping is not supported")
				return
			}
			d = d.Get("propertyName")
		}
		if d == nil || d.Kind != source.String {
			b.problems.Addf(diag.SchemaUnion, sh.disc.Value.Pos, "", "discriminator must be the name of a member")
			return
		}
		name, at = d.Text, d.Pos
	} else {
		for _, f := range parts[0].t.Fields {
			if values, _ := constants(parts, f.Name); values != nil {
				name = f.Name
				break
			}
		}
	}
	values, bad := constants(parts, name)
	if values == nil {
		if sh.disc == nil {
			b.problems.Addf(diag.SchemaUnion, at, "let each require a member with a const of its own", "the alternatives cannot be told apart: no member has another constant in each")
			return
		}
		b.problems.Addf(diag.SchemaUnion, bad.Pos, "require it, as a string with a const of its own", "the discriminator %q is not required here, or has no constant of its own", name)
		return
	}
	t.Discriminator = name
	var scope names.Scope
	for i, p := range parts {
		goName := p.ref
		if goName == "" {
			goName = names.Go(values[i])
		}
		if slices.Contains(methods(), goName) {
			goName += "Value"
		}
		scope.Claim(goName, "the alternative "+strconv.Quote(values[i]), p.node.Pos)
		t.Variants = append(t.Variants, &model.Variant{GoName: goName, Type: p.t, Value: values[i]})
	}
	scope.Report(b.problems)
}

// constants returns the constant that each alternative has for the member, or
// nil and the first one that has none of its own.
func constants(parts []branch, name string) (values []string, bad *source.Node) {
	for _, p := range parts {
		i := slices.IndexFunc(p.t.Fields, func(f *model.Field) bool { return f.Name == name })
		if i < 0 {
			return nil, p.node
		}
		f := p.t.Fields[i]
		var value string
		if !f.Required || f.Nullable || f.Type.Kind != model.String || f.Type.Const == "" || json.Unmarshal([]byte(f.Type.Const), &value) != nil || slices.Contains(values, value) {
			return nil, p.node
		}
		values = append(values, value)
	}
	return values, nil
}
