package schema_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/schema"
)

// writer writes random schemas, and documents that a type might allow.
type writer struct{ *rand.Rand }

func (w writer) oneIn(n int) bool { return w.IntN(n) == 0 }

func pick[T any](w writer, list ...T) T { return list[w.IntN(len(list))] }

const components = 4

// document is a payload and components, in JSON.
func (w writer) document() string {
	var b strings.Builder
	payload := w.schema(0)
	if w.oneIn(4) {
		payload = fmt.Sprintf(pick(w, `{"$ref":"#/s%d"}`, `{"allOf":[{"$ref":"#/s%d"}]}`, `{"type":"object","oneOf":[{"$ref":"#/s%d"}]}`), w.IntN(components))
	}
	b.WriteString(`{"payload":` + payload)
	for i := range components {
		fmt.Fprintf(&b, `,"s%d":%s`, i, w.schema(1))
	}
	return b.String() + "}"
}

func (w writer) schema(depth int) string {
	if depth > 0 && (depth > 3 || w.oneIn(3)) {
		if depth > 4 || w.oneIn(2) {
			return pick(w, `{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`, `{}`, `true`)
		}
		return fmt.Sprintf(`{"$ref":"#/s%d"}`, w.IntN(components))
	}
	var parts []string
	add := func(chance int, keyword, value string) {
		if w.oneIn(chance) {
			parts = append(parts, fmt.Sprintf("%q:%s", keyword, value))
		}
	}
	typ := pick(w, "object", "object", "object", "array", "string", "integer", "number", "boolean", "oneOf", "allOf", "enum")
	if depth == 0 {
		typ = "object"
	}
	if typ != "oneOf" && typ != "allOf" && typ != "enum" || w.oneIn(6) {
		name := typ
		if !strings.Contains("object array string integer number boolean", typ) {
			name = pick(w, "object", "string", "integer", "number")
		}
		if depth > 0 && w.oneIn(5) {
			parts = append(parts, fmt.Sprintf(`"type":[%q,"null"]`, name))
		} else {
			parts = append(parts, fmt.Sprintf(`"type":%q`, name))
		}
	}
	add(2, "description", `"d"`)
	switch typ {
	case "object":
		w.object(add, depth)
	case "array":
		add(1, "items", w.schema(depth+1))
		add(4, "minItems", pick(w, "0", "1", "2"))
		add(4, "maxItems", pick(w, "2", "3"))
		add(3, "uniqueItems", pick(w, "true", "false"))
	case "string":
		add(4, "minLength", pick(w, "0", "1", "2"))
		add(4, "maxLength", pick(w, "1", "2", "3"))
		add(6, "pattern", pick(w, `"^x"`, `"y$"`, `"[xy]{2}"`))
		add(8, "format", pick(w, `"date"`, `"uuid"`, `"email"`))
		add(8, "const", pick(w, `"x"`, `"xy"`))
		add(8, "enum", pick(w, `["x","y"]`, `["x"]`, `["x","xy",null]`))
	case "integer", "number":
		add(4, "minimum", pick(w, "0", "-1", "1", "1.5"))
		add(4, "maximum", pick(w, "2", "3", "2.5", "1e1"))
		add(8, "exclusiveMinimum", pick(w, "0", "-1", "0.5"))
		add(8, "exclusiveMaximum", pick(w, "3", "4", "2.5"))
		add(6, "multipleOf", pick(w, "1", "2", "0.5", "1.5"))
		add(8, "const", pick(w, "1", "2", "1.0"))
		add(8, "enum", pick(w, "[1,2]", "[1]", "[1,2,null]"))
	case "boolean":
		add(4, "const", pick(w, "true", "false"))
		add(6, "enum", pick(w, "[true]", "[true,false]", "[true,null]"))
	case "enum":
		add(1, pick(w, "enum", "const"), pick(w, `["x","y"]`, `["x",null]`, "[1,2]", "[1,2,null]", "[null]", `["x"]`, `"x"`, "1", "true"))
	case "oneOf":
		add(1, "oneOf", w.list(func() string {
			if w.oneIn(2) {
				return fmt.Sprintf(`{"type":"object","required":["k","a"],"properties":{"k":{"type":"string","const":%q},"a":%s}}`, pick(w, "x", "y", "z"), w.schema(depth+2))
			}
			return pick(w, `{"type":"null"}`, w.schema(depth+1))
		}))
		add(8, "discriminator", `"k"`)
	case "allOf":
		bounds := w.oneIn(3)
		add(1, "allOf", w.list(func() string {
			if bounds {
				return fmt.Sprintf(`{"type":%q,%q:%d}`, pick(w, "integer", "number"), pick(w, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), w.IntN(4))
			}
			return pick(w, w.schema(depth+1), `{"type":"object"}`, `{"required":["a"]}`, `{"type":["object","null"]}`, `{"minProperties":1}`, `{"type":"integer","minimum":1}`, `{"description":"e"}`)
		}))
		if w.oneIn(3) {
			w.object(add, depth)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (w writer) list(one func() string) string {
	var parts []string
	for range 1 + w.IntN(3) {
		parts = append(parts, one())
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (w writer) object(add func(int, string, string), depth int) {
	var props, required []string
	for _, name := range []string{"a", "b", "c", "k"} {
		if w.oneIn(2) {
			props = append(props, fmt.Sprintf("%q:%s", name, w.schema(depth+1)))
			if w.oneIn(3) {
				required = append(required, fmt.Sprintf("%q", name))
			}
		}
	}
	if len(props) > 0 {
		add(1, "properties", "{"+strings.Join(props, ",")+"}")
		add(2, "required", "["+strings.Join(required, ",")+"]")
	}
	add(4, "additionalProperties", pick(w, "true", "false", w.schema(depth+1)))
	add(8, "minProperties", pick(w, "0", "1", "2"))
	add(8, "maxProperties", pick(w, "2", "3"))
}

// value writes JSON that mostly fits the type.
func (w writer) value(t *model.Type, nullable bool, depth int) string {
	switch {
	case w.oneIn(25) || t.Kind == model.Raw || depth > 6:
		return pick(w, "null", "true", "0", "1.0", "1.5", `"x"`, `""`, "[]", "{}", `{"a":1}`, `{"k":"x"}`, `["x","x"]`, "[1,1.0]")
	case nullable && w.oneIn(4):
		return "null"
	case t.Const != "" && !w.oneIn(8):
		return t.Const
	}
	switch t.Kind {
	case model.Bool:
		return pick(w, "true", "false")
	case model.Int, model.Float:
		return pick(w, "-1", "0", "1", "1.0", "2", "3", "10e-1", "2.0", "4", "0.5", "1.5", "2.5", "10")
	case model.String:
		return pick(w, `"x"`, `"y"`, `"xy"`, `"xyx"`, `"yx"`, `""`, `"2026-01-31"`, `"a@b.co"`, `"018f0000-0000-7000-8000-000000000000"`, `"é"`)
	case model.Array:
		var parts []string
		for range w.IntN(4) {
			parts = append(parts, w.value(t.Elem, t.ElemNullable, depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case model.Union:
		return w.value(pick(w, t.Variants...).Type, false, depth)
	}
	members := map[string]string{}
	for _, f := range t.Fields {
		if f.Required && !w.oneIn(15) || !f.Required && w.oneIn(2) {
			members[f.Name] = w.value(f.Type, f.Nullable, depth+1)
		}
	}
	for _, name := range []string{"a", "b", "c", "d", "k"} {
		if extra := t.Extra; members[name] == "" && w.oneIn(5) {
			if extra == nil {
				extra = t.Elem
			}
			if extra == nil {
				extra = &model.Type{}
			}
			members[name] = w.value(extra, t.ExtraNullable || t.ElemNullable, depth+1)
		}
	}
	var parts []string
	for name, v := range members {
		parts = append(parts, fmt.Sprintf("%q:%s", name, v))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// differences compares the type of a random payload with a validator of its
// schema; ok says that there was a type.
func differences(t *testing.T, seed uint64, documents int) (ok bool, fit int) {
	w := writer{rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // the same every time
	text := w.document()
	typ, types, problems := build(text, schema.Options{})
	if len(problems) > 0 {
		return false, 0
	}
	if wrong := inconsistent(typ, types); wrong != "" {
		t.Errorf("seed %d: %s\n%s", seed, wrong, text)
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err, text)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	if err := c.AddResource("mem:///doc", root); err != nil {
		t.Fatal(err, text)
	}
	validator, err := c.Compile("mem:///doc#/payload")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for range documents {
		doc := w.value(typ, false, 0)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			t.Fatal(err, doc)
		}
		ours, theirs := accepts(typ, v, false), validator.Validate(v)
		if ours != (theirs == nil) {
			t.Errorf("seed %d: the type accepts it: %v, the validator says %v\n%s\n%s", seed, ours, theirs, text, doc)
			return true, fit
		}
		if ours {
			fit++
		}
	}
	return true, fit
}

// inconsistent reports a name that is there twice, or a named type that is not among
// those to declare.
func inconsistent(root *model.Type, types []*model.Type) string {
	taken := map[string]bool{}
	declared := map[*model.Type]bool{}
	for _, t := range types {
		declared[t] = true
		for _, name := range append([]string{t.Name}, constants(t)...) {
			if taken[name] {
				return name + " is declared twice"
			}
			taken[name] = true
		}
	}
	seen := map[*model.Type]bool{nil: true}
	wrong := ""
	var walk func(t *model.Type)
	walk = func(t *model.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		needed := t.Kind == model.Object || t.Kind == model.Union || t.Enum != nil
		if t.Name == "" && needed || t.Name != "" && !declared[t] {
			wrong = fmt.Sprintf("the type %q at %s is not declared", t.Name, t.Source)
		}
		walk(t.Elem)
		walk(t.Extra)
		for _, f := range t.Fields {
			walk(f.Type)
		}
		for _, v := range t.Variants {
			walk(v.Type)
		}
	}
	walk(root)
	return wrong
}

func constants(t *model.Type) []string {
	var names []string
	for _, v := range t.Enum {
		names = append(names, v.GoName)
	}
	return names
}

// The type of a schema that is not refused allows what a validator allows.
func TestTypesMeanWhatSchemasMean(t *testing.T) {
	const schemas, documents = 1200, 12
	built, fit := 0, 0
	for seed := range uint64(schemas) {
		ok, n := differences(t, seed, documents)
		fit += n
		if ok {
			built++
		}
	}
	t.Logf("%d of %d schemas are supported, %d%% of documents fit", built, schemas, 100*fit/max(1, built*documents))
	if built < schemas/10 || fit < built*documents/10 {
		t.Error("too few to say anything")
	}
}

func FuzzTypes(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { differences(t, seed, 30) })
}
