package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/idem-go/idem/gen/internal/model"
)

// schemaOf writes a type as JSON Schema, for an oracle that knows nothing of
// this package.
func schemaOf(t *model.Type) map[string]any {
	s := map[string]any{}
	num := func(name, text string) {
		if text != "" {
			s[name] = json.Number(text)
		}
	}
	count := func(name string, n *int) {
		if n != nil {
			s[name] = *n
		}
	}
	if t.Const != "" {
		s["const"] = json.RawMessage(t.Const)
	}
	if t.Enum != nil && !t.OpenEnum {
		var list []any
		for _, e := range t.Enum {
			if t.Kind == model.Int {
				list = append(list, json.Number(e.Value))
			} else {
				list = append(list, e.Value)
			}
		}
		s["enum"] = list
	}
	switch t.Kind {
	case model.Bool:
		s["type"] = "boolean"
	case model.Int:
		s["type"] = "integer"
	case model.Float:
		s["type"] = "number"
	case model.String:
		s["type"] = "string"
		count("minLength", t.MinLength)
		count("maxLength", t.MaxLength)
		if t.Format != "" {
			s["format"] = t.Format
		}
		if t.Pattern != "" {
			s["pattern"] = t.Pattern
		}
	case model.Array:
		s["type"], s["items"], s["uniqueItems"] = "array", orNull(t.Elem, t.ElemNullable), t.UniqueItems
		count("minItems", t.MinItems)
		count("maxItems", t.MaxItems)
	case model.MapOf:
		s["type"], s["additionalProperties"] = "object", orNull(t.Elem, t.ElemNullable)
		count("minProperties", t.MinItems)
		count("maxProperties", t.MaxItems)
	case model.Object:
		s["type"], s["additionalProperties"] = "object", !t.Closed
		properties, required := map[string]any{}, []string{}
		for _, f := range t.Fields {
			properties[f.Name] = orNull(f.Type, f.Nullable)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		s["properties"], s["required"] = properties, required
		count("minProperties", t.MinItems)
	case model.Union:
		var list []any
		for _, v := range t.Variants {
			list = append(list, schemaOf(v.Type))
		}
		s["oneOf"] = list
	}
	num("minimum", t.Minimum)
	num("maximum", t.Maximum)
	num("exclusiveMinimum", t.ExclusiveMinimum)
	num("exclusiveMaximum", t.ExclusiveMaximum)
	num("multipleOf", t.MultipleOf)
	return s
}

func orNull(t *model.Type, nullable bool) map[string]any {
	if nullable {
		return map[string]any{"anyOf": []any{schemaOf(t), map[string]any{"type": "null"}}}
	}
	return schemaOf(t)
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// accepts asks the oracle.
func accepts(t fataler, typ *model.Type, v *value) error {
	t.Helper()
	text, err := json.Marshal(schemaOf(typ))
	if err != nil {
		t.Fatalf("%v", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatalf("%v", err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(v.write("", nil, "")))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := schema.Validate(instance); err != nil {
		return fmt.Errorf("%s is not of %s: %w", v.write("", nil, ""), text, err)
	}
	return nil
}

// drawType draws a type that has values.
func drawType(t *rapid.T, depth int) *model.Type {
	kinds := []model.Kind{model.Bool, model.Int, model.Float, model.String, model.Raw}
	if depth > 0 {
		kinds = append(kinds, model.Array, model.MapOf, model.Object, model.Object, model.Union)
	}
	typ := &model.Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	size := func(name string, most int) *int {
		if rapid.Bool().Draw(t, name) {
			return new(rapid.IntRange(0, most).Draw(t, name))
		}
		return nil
	}
	switch typ.Kind {
	case model.Int, model.Float:
		drawNumber(t, typ)
	case model.String:
		switch rapid.IntRange(0, 3).Draw(t, "string") {
		case 0:
			typ.Format = rapid.SampledFrom([]string{"date-time", "date", "time", "uuid", "email", "uri"}).Draw(t, "format")
		case 1:
			typ.Pattern = rapid.SampledFrom([]string{
				`^[A-Z]{3}-\d{4}$`, `^\d+$`, `^[a-z][a-z0-9-]*$`, `^(BR|PT)\d{6}$`, `x`, `^[A-Z0-9]{8}$`, `^[a-f0-9]{24}$`, `^pay_[A-Za-z0-9]+$`, `^.{4,9}$`, `\d{3}%s`,
			}).Draw(t, "pattern")
		case 2:
			typ.MinLength = size("minLength", 30)
			if n := size("maxLength", 30); n != nil {
				if typ.MinLength != nil {
					*n += *typ.MinLength
				}
				typ.MaxLength = n
			}
		default:
			typ.Enum = []model.EnumValue{{Value: "a"}, {Value: `b"%d`}}
		}
	case model.Array:
		typ.Elem = drawType(t, depth-1)
		typ.MinItems = size("minItems", 3)
	case model.MapOf:
		typ.Elem, typ.ElemNullable = drawType(t, depth-1), rapid.Bool().Draw(t, "nullable")
		typ.MinItems = size("minItems", 3)
	case model.Object:
		drawFields(t, typ, depth)
	case model.Union:
		typ.Variants = []*model.Variant{{Type: &model.Type{Kind: model.String}}, {Type: &model.Type{Kind: model.Int}}}
	}
	return typ
}

func drawFields(t *rapid.T, typ *model.Type, depth int) {
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		typ.Fields = append(typ.Fields, &model.Field{
			Name: fmt.Sprintf("field%d%%", i), Type: drawType(t, depth-1),
			Required: rapid.Bool().Draw(t, "required"), Nullable: rapid.Bool().Draw(t, "nullable"),
		})
	}
	typ.Closed = rapid.Bool().Draw(t, "closed")
	if n := rapid.IntRange(0, 6).Draw(t, "minProperties"); !typ.Closed || n <= len(typ.Fields) {
		typ.MinItems = &n
	}
}

func drawNumber(t *rapid.T, typ *model.Type) {
	bound := func(name string) (string, int) {
		n := rapid.IntRange(-50, 50).Draw(t, name)
		return fmt.Sprint(n), n
	}
	low := -1000
	switch rapid.IntRange(0, 2).Draw(t, "low") {
	case 1:
		typ.Minimum, low = bound("minimum")
	case 2:
		typ.ExclusiveMinimum, low = bound("exclusiveMinimum")
	}
	if typ.Kind == model.Int || rapid.Bool().Draw(t, "multiple") {
		typ.MultipleOf = rapid.SampledFrom([]string{"", "1", "5", "0.5", "2.5"}).Draw(t, "multipleOf")
	}
	if high := low + 20; low > -1000 && rapid.Bool().Draw(t, "high") {
		if rapid.Bool().Draw(t, "exclusive") {
			typ.ExclusiveMaximum = fmt.Sprint(high)
		} else {
			typ.Maximum = fmt.Sprint(high)
		}
	}
}

// A sample that is made up is one of its type, as an independent validator of
// JSON Schema sees it; so are its variations, which differ from each other.
func TestSamplesAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3)
		v := synthesise(typ, "hint")
		if v == nil {
			t.Fatalf("no sample of %v", schemaOf(typ))
		}
		if err := accepts(t, typ, v); err != nil {
			t.Fatal(err)
		}
		if !conforms(typ, v) {
			t.Fatalf("%s does not conform", v.write("", nil, ""))
		}
		for _, o := range others(typ, v) {
			if err := accepts(t, typ, o); err != nil || o.equal(v) {
				t.Fatalf("%v, equal %v", err, o.equal(v))
			}
		}
		s, ok := vary(typ, v)
		if !ok {
			return
		}
		seen := map[string]bool{}
		for n := range 40 {
			o := s.value(n)
			if err := accepts(t, typ, o); err != nil {
				t.Fatal(err)
			}
			if seen[o.text] {
				t.Fatalf("%q comes twice", o.text)
			}
			seen[o.text] = true
		}
	})
}

// What keys usually look like can vary.
func TestKeysVary(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  model.Type
		like *value
		want string // the eleventh value
	}{
		{"digits count on", model.Type{Kind: model.String}, text("p00001"), "p00011"},
		{"text", model.Type{Kind: model.String}, text("abc"), "abc-10"},
		{"percent", model.Type{Kind: model.String}, text("50%"), "50%-10"},
		{"pattern", model.Type{Kind: model.String, Pattern: `^[A-Z]{2}\d{4}$`}, text("AB9999"), "AB0010"},
		{"pattern of letters and digits", model.Type{Kind: model.String, Pattern: `^[0-9a-f]{24}$`}, text("aaaaaaaaaaaaaaaaaaaaaaaa"), "000000000000000000000010"},
		{"uuid", model.Type{Kind: model.String, Format: "uuid"}, text("6f1b6c2a-78c5-4a9e-9f5d-0a4d3c2b1e00"), "6f1b6c2a-78c5-4a9e-9f5d-000000000010"},
		{"email", model.Type{Kind: model.String, Format: "email"}, text("ana@example.com"), "ana-10@example.com"},
		{"number", model.Type{Kind: model.Int, Minimum: "1"}, number("42"), "52"},
		{"multiple", model.Type{Kind: model.Int, MultipleOf: "5"}, number("5"), "55"},
		{"short", model.Type{Kind: model.String, MaxLength: new(5)}, text("abcde"), "10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, ok := vary(&tt.typ, tt.like)
			if !ok {
				t.Fatal("does not vary")
			}
			if got := s.value(10).text; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, typ := range []model.Type{
		{Kind: model.String, Enum: []model.EnumValue{{Value: "a"}, {Value: "b"}}},
		{Kind: model.String, Const: `"a"`},
		{Kind: model.Bool},
		{Kind: model.Int, Minimum: "1", Maximum: "9"},
		{Kind: model.String, MaxLength: new(2)},
	} {
		if s, ok := vary(&typ, text("a")); ok {
			t.Errorf("%+v varies: %+v", typ, s)
		}
	}
}

// A type that contains itself ends; one that cannot end has no sample.
func TestSamplesOfRecursiveTypes(t *testing.T) {
	tree := &model.Type{Kind: model.Object, Name: "Tree"}
	list := &model.Type{Kind: model.Array, Elem: tree}
	tree.Fields = []*model.Field{{Name: "children", Type: list, Required: true}, {Name: "parent", Type: tree}, {Name: "next", Type: tree, Required: true, Nullable: true}}
	if v := synthesise(tree, ""); v == nil || !conforms(tree, v) {
		t.Error("a tree has no sample")
	}
	tree.Fields[2].Nullable = false
	if v := synthesise(tree, ""); v != nil {
		t.Errorf("an endless type has the sample %s", v.write("", nil, ""))
	}
}

// The changed content of a reused key differs where the fingerprint looks, and
// neither in the key nor in what tells messages apart.
func TestReuse(t *testing.T) {
	str := &model.Type{Kind: model.String}
	payload := &model.Type{Kind: model.Object, Name: "P", Closed: true, Fields: []*model.Field{
		{Name: "kind", Type: str, Required: true}, {Name: "id", Type: str, Required: true},
		{Name: "a", Type: &model.Type{Kind: model.Object, Fields: []*model.Field{{Name: "id", Type: str, Required: true}}}, Required: true},
		{Name: "b", Type: &model.Type{Kind: model.Bool}, Required: true},
	}}
	op := model.Operation{
		Key: []model.KeyPart{{Pointer: "/id"}}, Dispatch: &model.Dispatch{Pointer: "/kind", Values: []string{"x"}},
		Messages: []*model.Message{{Name: "m", GoName: "M", Payload: payload}},
	}
	for _, tt := range []struct {
		name  string
		print model.Fingerprint
		want  change
	}{
		{"whole payload", model.Fingerprint{}, change{`"id": "id"`, `"id": "idx"`}}, // of /a: the key reads "id-0"
		{"pointer", model.Fingerprint{Pointers: []string{"/b"}}, change{`"b": true`, `"b": false`}},
		{"of the key only", model.Fingerprint{Pointers: []string{"/id"}}, change{}},
		{"none", model.Fingerprint{None: true}, change{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			op.Fingerprint = tt.print
			if got := sampleOf(&op, 0).reuse(&op, ""); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	// A number is written as the key of the first message has it.
	payload.Fields[1].Type, op.Fingerprint = &model.Type{Kind: model.Int}, model.Fingerprint{}
	payload.Fields = append(payload.Fields[:2:2], payload.Fields[3])
	if got := sampleOf(&op, 0).reuse(&op, ""); got.new != `"b": false` {
		t.Errorf("with a number for a key: %+v", got)
	}
	op.Key = append(op.Key, model.KeyPart{Pointer: "/b"})
	if got := sampleOf(&op, 0).reuse(&op, ""); got != (change{}) {
		t.Errorf("all of it is key: %+v", got)
	}
	op.Key = op.Key[:1]
	payload.Closed, payload.Fields = false, payload.Fields[:2]
	op.Fingerprint = model.Fingerprint{}
	if got := sampleOf(&op, 0).reuse(&op, ""); got.new != `{"other": "content",` {
		t.Errorf("a member more would do: %+v", got)
	}
}
