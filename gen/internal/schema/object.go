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

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string encodes
	}
	return string(b)
}

// methods are what generated types have, besides a field for each member.
func methods() []string {
	return []string{"DecodeMessage", "Extra", "IsZero", "Known", "MarshalJSON", "String", "UnmarshalJSON", "Validate"}
}

func (b *Builder) object(t *model.Type, sh *shape, at place) {
	t.MinItems, t.MaxItems = b.limits(sh, "minProperties", "maxProperties")
	if t.Kind == model.MapOf {
		b.mapOf(t, sh, at)
		return
	}
	b.declare(t, at.name)
	required := map[string]bool{}
	for _, item := range sh.required {
		if _, ok := sh.index[item.Text]; !ok {
			b.problems.Addf(diag.SchemaRequired, item.Pos, "declare it in properties, or remove it", "%q is required and is not among the properties", item.Text)
		}
		required[item.Text] = true
	}
	var scope names.Scope
	for _, p := range sh.props {
		name := names.Go(p.Name)
		if slices.Contains(methods(), name) {
			name += "Value"
		}
		scope.Claim(name, "the member "+strconv.Quote(p.Name), p.NamePos)
		m := b.schema(p.Value, at.within(names.Go(p.Name)))
		if !m.ok {
			continue
		}
		f := &model.Field{Name: p.Name, GoName: name, Type: m.t, Required: required[p.Name], Nullable: m.nullable, Pos: p.NamePos}
		if d := p.Value.Get("description"); d != nil && d.Kind == source.String {
			f.Description = d.Text
		}
		t.Fields = append(t.Fields, f)
	}
	scope.Report(b.problems)
	switch {
	case sh.extra == nil:
		t.Closed = b.opt.RejectExtraFields
	case sh.extra.Value.Kind == source.Bool:
		t.Closed = isBool(sh.extra.Value, "false")
	default:
		if m := b.schema(sh.extra.Value, at.within("Extra")); m.ok {
			t.Extra, t.ExtraNullable = m.t, m.nullable
		}
	}
}

func (b *Builder) mapOf(t *model.Type, sh *shape, at place) {
	for _, item := range sh.required {
		b.problems.Addf(diag.SchemaRequired, item.Pos, "declare it in properties", "%q is required and is not among the properties", item.Text)
	}
	t.Elem = &model.Type{}
	if sh.extra != nil && sh.extra.Value.Kind != source.Bool {
		if m := b.schema(sh.extra.Value, at.within("Value")); m.ok {
			t.Elem, t.ElemNullable = m.t, m.nullable
		}
	}
}

func (b *Builder) array(t *model.Type, sh *shape, at place) {
	t.MinItems, t.MaxItems = b.limits(sh, "minItems", "maxItems")
	t.UniqueItems = sh.unique
	t.Elem = &model.Type{}
	if sh.items == nil {
		return
	}
	if sh.items.Value.Kind == source.List {
		b.problems.Addf(diag.SchemaUnsupported, sh.items.NamePos, "use one schema for all items, or an object", "a schema for each place of a list is not supported")
		return
	}
	if m := b.schema(sh.items.Value, at.within("Item")); m.ok {
		t.Elem, t.ElemNullable = m.t, m.nullable
	}
}
