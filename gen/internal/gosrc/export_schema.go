package gosrc

import (
	"strconv"

	"github.com/idem-go/idem/gen/internal/model"
)

// use is the schema of a type where it is used: a reference if it has a name.
func (e *exporter) use(t *model.Type, nullable bool) any {
	key, named := e.schemas[t]
	switch {
	case named && nullable:
		return object{{"oneOf", list{ref("components", "schemas", key), object{{"type", "null"}}}}}
	case named:
		return ref("components", "schemas", key)
	default:
		return e.schema(t, nullable)
	}
}

func (e *exporter) definition(t *model.Type) any { return e.schema(t, false) }

// schema writes a type out.
func (e *exporter) schema(t *model.Type, nullable bool) any {
	out := object{}
	typ := map[model.Kind]string{
		model.Bool: "boolean", model.Int: "integer", model.Float: "number", model.String: "string",
		model.Object: "object", model.MapOf: "object", model.Array: "array",
	}[t.Kind]
	switch {
	case typ != "" && nullable:
		out = append(out, member{"type", list{typ, "null"}})
	case typ != "":
		out = append(out, member{"type", typ})
	}
	out.with("description", t.Description)
	e.scalar(t, nullable, &out)
	switch t.Kind {
	case model.Array:
		out = append(out, member{"items", e.use(t.Elem, t.ElemNullable)})
		out.with("minItems", limit(t.MinItems))
		out.with("maxItems", limit(t.MaxItems))
		if t.UniqueItems {
			out = append(out, member{"uniqueItems", true})
		}
	case model.MapOf:
		out = append(out, member{"additionalProperties", e.use(t.Elem, t.ElemNullable)})
		out.with("minProperties", limit(t.MinItems))
		out.with("maxProperties", limit(t.MaxItems))
	case model.Object:
		e.object(t, &out)
	case model.Union:
		e.union(t, nullable, &out)
	}
	return out
}

func limit(n *int) number {
	if n == nil {
		return ""
	}
	return number(strconv.Itoa(*n))
}

func (e *exporter) scalar(t *model.Type, nullable bool, out *object) {
	out.with("format", t.Format)
	out.with("minLength", limit(t.MinLength))
	out.with("maxLength", limit(t.MaxLength))
	out.with("pattern", t.Pattern)
	out.with("minimum", number(t.Minimum))
	out.with("maximum", number(t.Maximum))
	out.with("exclusiveMinimum", number(t.ExclusiveMinimum))
	out.with("exclusiveMaximum", number(t.ExclusiveMaximum))
	out.with("multipleOf", number(t.MultipleOf))
	if t.Const != "" {
		if nullable {
			*out = append(*out, member{"enum", list{fromJSON([]byte(t.Const)), nil}})
		} else {
			*out = append(*out, member{"const", fromJSON([]byte(t.Const))})
		}
	}
	if t.Enum == nil {
		return
	}
	values := list{}
	for _, v := range t.Enum {
		if t.Kind == model.Int {
			values = append(values, number(v.Value))
		} else {
			values = append(values, v.Value)
		}
	}
	if nullable {
		values = append(values, nil)
	}
	*out = append(*out, member{"enum", values})
}

func (e *exporter) object(t *model.Type, out *object) {
	required, properties := list{}, object{}
	for _, f := range t.Fields {
		if f.Required {
			required = append(required, f.Name)
		}
		properties = append(properties, member{f.Name, e.property(f)})
	}
	if len(required) > 0 {
		*out = append(*out, member{"required", required})
	}
	out.with("properties", properties)
	switch {
	case t.Closed:
		*out = append(*out, member{"additionalProperties", false})
	case t.Extra != nil:
		*out = append(*out, member{"additionalProperties", e.use(t.Extra, t.ExtraNullable)})
	}
	out.with("minProperties", limit(t.MinItems))
	out.with("maxProperties", limit(t.MaxItems))
}

// property is the schema of a member. What is said about the member rather
// than its type stands beside the reference to the type.
func (e *exporter) property(f *model.Field) any {
	v := e.use(f.Type, f.Nullable)
	o, ok := v.(object)
	if !ok || f.Description == "" {
		return v
	}
	if len(o) == 1 && o[0].name == "$ref" {
		return object{{"description", f.Description}, {"allOf", list{o}}}
	}
	for i, m := range o {
		if m.name == "description" {
			o[i].value = f.Description
			return o
		}
	}
	at := 0
	if len(o) > 0 && o[0].name == "type" {
		at = 1
	}
	return append(append(append(object{}, o[:at]...), member{"description", f.Description}), o[at:]...)
}

func (e *exporter) union(t *model.Type, nullable bool, out *object) {
	variants := list{}
	for _, v := range t.Variants {
		variants = append(variants, e.use(v.Type, false))
	}
	if nullable {
		variants = append(variants, object{{"type", "null"}})
	}
	*out = append(*out, member{"oneOf", variants})
	out.with("discriminator", t.Discriminator)
}
