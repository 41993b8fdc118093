package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

func (v *viewer) message(m *model.Message) message {
	out := message{Name: m.Name, Anchor: anchor("message", m.Name), Description: about(m.Summary, m.Description)}
	out.Facts = append(out.Facts, fact{"Go type", cell{code(m.GoName)}})
	if m.ContentType != "" {
		out.Facts = append(out.Facts, fact{"Content type", cell{code(m.ContentType)}})
	}
	out.Payload = v.typ(m.Payload)
	if m.Headers != nil {
		out.Headers = v.typ(m.Headers)
	}
	for _, e := range m.Examples {
		shown := example{Name: e.Name, JSON: indented(e.Payload)}
		for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
			shown.Headers = append(shown.Headers, fact{name, cell{code(e.Headers[name])}})
		}
		out.Examples = append(out.Examples, shown)
	}
	return out
}

func indented(payload []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, payload, "", "  "); err != nil {
		return string(payload)
	}
	return b.String()
}

func (v *viewer) typ(t *model.Type) *typ {
	out := &typ{Name: t.Name, Anchor: v.anchors[t], Description: paragraphs(t.Description)}
	out.What = join(", ", v.shape(t), v.rules(t))
	for _, f := range t.Fields {
		shown := field{Name: f.Name, Type: v.typeOf(f.Type, f.Nullable), Required: f.Required, Description: paragraphs(f.Description)}
		if f.Type.Name == "" {
			shown.Rules = v.rules(f.Type)
		}
		if len(shown.Description) == 0 && f.Type.Name == "" {
			shown.Description = paragraphs(f.Type.Description)
		}
		out.Fields = append(out.Fields, shown)
	}
	for _, e := range t.Enum {
		out.Values = append(out.Values, cell{code(e.Value)})
	}
	for _, variant := range t.Variants {
		name := variant.Value
		if name == "" {
			name = variant.GoName
		}
		out.Variants = append(out.Variants, fact{name, v.typeOf(variant.Type, false)})
	}
	return out
}

// typeOf names a type where it is used.
func (v *viewer) typeOf(t *model.Type, nullable bool) cell {
	var out cell
	if t.Name != "" { // and no further: it may be a list of itself
		out = cell{{Text: t.Name, Code: true, Anchor: v.anchors[t]}}
	} else {
		out = v.shape(t)
	}
	if nullable {
		out = append(out, plain(" or null"))
	}
	return out
}

// shape says what a type is, without its name and rules.
func (v *viewer) shape(t *model.Type) cell {
	switch t.Kind {
	case model.Bool:
		return cell{plain("boolean")}
	case model.Int:
		return cell{plain("integer")}
	case model.Float:
		return cell{plain("number")}
	case model.String:
		if t.Format != "" {
			return cell{plain("string, %s", t.Format)}
		}
		return cell{plain("string")}
	case model.Object:
		return cell{plain("object")}
	case model.MapOf:
		return append(cell{plain("map of ")}, v.typeOf(t.Elem, t.ElemNullable)...)
	case model.Array:
		return append(cell{plain("list of ")}, v.typeOf(t.Elem, t.ElemNullable)...)
	case model.Union:
		if t.Discriminator != "" {
			return cell{plain("one of several, told apart by "), code(t.Discriminator)}
		}
		return cell{plain("one of several, told apart by their JSON types")}
	default:
		return cell{plain("any JSON")}
	}
}

// rules are what a value must keep to beside its type.
func (v *viewer) rules(t *model.Type) cell {
	var cells []cell
	add := func(pieces ...text) { cells = append(cells, pieces) }
	if t.Const != "" {
		add(plain("is "), code(t.Const))
	}
	if len(t.Enum) > 0 {
		if t.Name == "" {
			values := make([]string, len(t.Enum))
			for i, e := range t.Enum {
				values[i] = e.Value
			}
			cells = append(cells, append(cell{plain("one of ")}, codes(", ", values)...))
		}
		if t.OpenEnum {
			add(plain("others may come"))
		}
	}
	cells = append(cells, span("%s characters", t.MinLength, t.MaxLength))
	if t.Pattern != "" {
		add(plain("matches "), code(t.Pattern))
	}
	for _, bound := range []struct{ what, value string }{
		{"≥ ", t.Minimum}, {"> ", t.ExclusiveMinimum}, {"≤ ", t.Maximum}, {"< ", t.ExclusiveMaximum}, {"multiple of ", t.MultipleOf},
	} {
		if bound.value != "" {
			add(plain("%s%s", bound.what, bound.value))
		}
	}
	if t.Kind == model.Array {
		cells = append(cells, span("%s items", t.MinItems, t.MaxItems))
	} else {
		cells = append(cells, span("%s members", t.MinItems, t.MaxItems))
	}
	if t.UniqueItems {
		add(plain("no two the same"))
	}
	if t.Elem != nil && t.Elem.Name == "" {
		if each := v.rules(t.Elem); len(each) > 0 {
			cells = append(cells, append(cell{plain("each: ")}, each...))
		}
	}
	if t.Closed {
		add(plain("no other members"))
	}
	if t.Extra != nil {
		cells = append(cells, append(cell{plain("other members: ")}, v.typeOf(t.Extra, t.ExtraNullable)...))
	}
	return join(", ", cells...)
}

// span says how many there may be.
func span(format string, least, most *int) cell {
	if last := cmp.Or(most, least); last != nil && *last == 1 {
		format = strings.TrimSuffix(format, "s") // "at least 1 character"
	}
	switch {
	case least != nil && most != nil && *least == *most:
		return cell{plain(format, plain("%d", *least).Text)}
	case least != nil && most != nil:
		return cell{plain(format, plain("%d to %d", *least, *most).Text)}
	case least != nil && *least > 0:
		return cell{plain(format, plain("at least %d", *least).Text)}
	case most != nil:
		return cell{plain(format, plain("at most %d", *most).Text)}
	}
	return nil
}
