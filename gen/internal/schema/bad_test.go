package schema_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/diag/diagtest"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/schema"
	"github.com/idem-go/idem/gen/internal/source"
)

// build loads a document and makes the type of its member payload.
func build(text string, opt schema.Options) (*model.Type, []*model.Type, []diag.Problem) {
	var problems diag.List
	set := source.NewSet(fstest.MapFS{"a.yaml": {Data: []byte(text)}}, &problems)
	f := set.Load("a.yaml", diag.Pos{})
	if f == nil {
		return nil, nil, problems.Sorted()
	}
	b := schema.New(set, &problems, opt)
	t := b.Payload(f.Root.Get("payload"), "Msg")
	if h := f.Root.Get("headers"); h != nil {
		b.Headers(h, "MsgHeaders")
	}
	return t, b.Types(), problems.Sorted()
}

// Each problem is reported at the place of the mark «.
func TestBad(t *testing.T) {
	var seen diagtest.Seen
	for _, tc := range []struct {
		text  string
		codes []diag.Code
	}{
		{"payload: «7", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: «[]}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: string}}, required: «a}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: string, minLength: «-1}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: string, minLength: «1.5}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: integer, exclusiveMinimum: «true}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: string, enum: «x}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: string, nullable: «7}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {allOf: «[]}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: object, properties: {a: {type: array, uniqueItems: «1}}}", []diag.Code{diag.SchemaKind}},
		{"payload: {type: «objetc}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {type: «[string, integer]}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {type: «'null'}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {«minLength: 1}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, «propertys: {}}", []diag.Code{diag.SchemaUnknown}},
		{"payload: {type: object, «anyOf: []}", []diag.Code{diag.SchemaUnsupported}},
		{"payload: {type: object, «if: {}, «then: {}, «else: {}, «not: {}}", []diag.Code{diag.SchemaUnsupported, diag.SchemaUnsupported, diag.SchemaUnsupported, diag.SchemaUnsupported}},
		{"payload: {type: object, properties: {a: «false}}", []diag.Code{diag.SchemaUnsupported}},
		{"payload: {type: object, properties: {a: {type: array, «items: [{type: string}]}}}", []diag.Code{diag.SchemaUnsupported}},
		{"payload: {type: object, properties: {a: {type: string, format: «ipv4}}}", []diag.Code{diag.FormatUnknown}},
		{"payload: {type: object, properties: {a: {type: integer, format: «date}}}", []diag.Code{diag.FormatUnknown}},
		{"payload: {type: object, properties: {a: {type: string, pattern: «'(?=x)'}}}", []diag.Code{diag.SchemaPattern}},
		{"payload: {type: object, properties: {a: {type: string, pattern: «'a(?i)b'}}}", []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'x\z'}}}`, []diag.Code{diag.SchemaPattern}},
		{"payload: {type: object, properties: {a: {type: string, minLength: «2, maxLength: 1}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: integer, minimum: «2, maximum: 1}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: integer, maximum: «9223372036854775808}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: integer, minimum: 0, maximum: «18446744073709551616}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: number, multipleOf: «0}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: number, maximum: «1e400}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: number, minimum: «1e309}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: number, const: «1e309}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: number, maximum: «1e999999999}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: string, enum: [a, «1]}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: string, enum: [a, b, «a]}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: string, enum: [a, b, «null]}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: number, «enum: [1.5, 2.5]}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: string, enum: [a, b], «minLength: 1}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: integer, const: «x}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: array, «const: []}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: string}}, required: [a, «b]}", []diag.Code{diag.SchemaRequired}},
		{"payload: {type: object, required: [«b]}", []diag.Code{diag.SchemaRequired}},
		{"payload: {allOf: [{type: object, properties: {a: {type: string}}}, {type: object, properties: {«a: {type: integer}}}]}", []diag.Code{diag.SchemaConflict}},
		{"payload: {allOf: [{type: object, properties: {a: {type: string}}, «additionalProperties: false}, {type: object, properties: {b: {type: integer}}}]}", []diag.Code{diag.SchemaConflict}},
		{"payload: {type: object, properties: {a: {allOf: [{type: string}, {type: «integer}]}}}", []diag.Code{diag.SchemaConflict}},
		{"payload: {type: object, properties: {a: {allOf: [{type: string, pattern: a}, {«pattern: b}]}}}", []diag.Code{diag.SchemaConflict}},
		{"payload: {type: object, properties: {a: {oneOf: [{type: string}, «{type: string}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {oneOf: [{type: integer}, «{type: number}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {«oneOf: [{type: object, properties: {x: {const: p}}}, {type: object, properties: {x: {const: q}}}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {discriminator: x, oneOf: [{type: object, required: [x], properties: {x: {const: p}}}, «{type: object, required: [x], properties: {x: {const: p}}}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, «discriminator: a, properties: {a: {type: string}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {«oneOf: [{type: 'null'}, {type: [string, 'null']}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {oneOf: [{type: integer}, {type: string}], «minimum: 1}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {type: string, «minimum: 1}}}", []diag.Code{diag.SchemaMisplaced}},
		{"payload: {type: object, properties: {a: {type: string, «minProperties: 1}}}", []diag.Code{diag.SchemaMisplaced}},
		{"payload: {type: object, properties: {a: {«properties: {b: {type: string}}}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {«nullable: true, enum: [x]}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {«const: null}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {$ref: '#/n'}}}\nn: {allOf: [{type: [object, 'null'], properties: {n: {$ref: '#/n'}}}]}", nil},
		{"payload: {type: object, properties: {a: {type: [string, 'null'], «enum: [x, y]}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {nullable: true, type: string, «const: x}}}", []diag.Code{diag.SchemaEnum}},
		{"payload: {type: object, properties: {a: {type: object, allOf: [{type: «string}]}}}", []diag.Code{diag.SchemaConflict}},
		{"payload: {allOf: [{type: object, properties: {a: {type: string}}}, {type: object, «additionalProperties: {type: integer}}]}", []diag.Code{diag.SchemaConflict}},
		{"payload: {type: object, properties: {a: {type: string, oneOf: [«{type: integer}, {type: string}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {type: «object, oneOf: [{type: 'null'}, {type: object}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {type: «[object, 'null'], oneOf: [{type: object}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {«oneOf: [{type: 'null'}, {}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {oneOf: [{type: 'null'}, «{type: 'null'}, {type: string}]}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {type: object, properties: {a: {«additionalProperties: {type: string}}}}", []diag.Code{diag.SchemaType}},
		{"payload: {type: object, properties: {a: {oneOf: [{type: object}], «additionalProperties: false}}}", []diag.Code{diag.SchemaUnion}},
		{"payload: {$ref: '#/a', «required: [x]}\na: {type: object, properties: {x: {type: string}}}", []diag.Code{diag.SchemaRef}},
		{"payload: {allOf: [{$ref: '#/a', «required: [x]}]}\na: {type: object, properties: {x: {type: string}}}", []diag.Code{diag.SchemaRef}},
		{"payload: {type: object, properties: {a: {$ref: '#/a'}}}\na: «{allOf: [{$ref: '#/a'}]}", []diag.Code{diag.RefLoop}},
		{"payload: {type: object, properties: {a: {$ref: '#/a'}}}\na: «{allOf: [{$ref: '#/b'}]}\nb: {description: x, allOf: [{$ref: '#/a'}]}", []diag.Code{diag.RefLoop}},
		{"payload: {type: object, properties: {a: {type: integer, exclusiveMinimum: «1, maximum: 1.5}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: number, exclusiveMinimum: «1, maximum: 1}}}", []diag.Code{diag.SchemaLimit}},
		{"payload: {type: object, properties: {a: {type: integer, minimum: -1, maximum: «10000000000000000000}}}", []diag.Code{diag.SchemaLimit}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'[a[:digit:]]'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'[]a]'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'[^]a]'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'\101'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'\p{Greek}'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'\pL'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'\s'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'\x{41}'}}}`, []diag.Code{diag.SchemaPattern}},
		{`payload: {type: object, properties: {a: {type: string, pattern: «'(?P<n>a)'}}}`, []diag.Code{diag.SchemaPattern}},
		{"payload: {type: object, properties: {a: {$ref: '#/s', «minLength: 1}}}\ns: {type: string}", []diag.Code{diag.SchemaRef}},
		{"payload: «{type: [object, 'null'], properties: {a: {type: string}}}", []diag.Code{diag.SchemaNull}},
		{"payload: {type: object}\nheaders: «{type: string}", []diag.Code{diag.SchemaHeaders}},
		{"payload: {type: object}\nheaders: {type: object, properties: {«a: {type: array}}}", []diag.Code{diag.SchemaHeaders}},
		{"payload: {type: object}\nheaders: {type: object, properties: {«a: {type: [string, 'null']}}}", []diag.Code{diag.SchemaHeaders}},
		{"payload: {$ref: '#/a'}\na: {type: object, required: [b], properties: {b: {$ref: '#/b'}}}\nb: {type: object, required: [a], properties: {«a: {$ref: '#/a'}}}", []diag.Code{diag.SchemaEndless}},
		{"payload: {type: object, properties: {a: {$ref: '#/a'}}}\na: {type: object, required: [l], properties: {«l: {type: array, minItems: 1, items: {$ref: '#/a'}}}}", []diag.Code{diag.SchemaEndless}},
		{"payload: {type: object, properties: {a: {$ref: '#/u'}}}\nu: {oneOf: [{$ref: '#/add'}, {type: string}]}\nadd: {type: object, required: [left], properties: {left: {$ref: '#/u'}}}", nil},
		{"payload: {type: object, properties: {order_id: {type: string}, orderId: {type: string}, «OrderID: {type: string}}}", []diag.Code{diag.NameClash}},
		{"payload: {type: object, properties: {a: {$ref: '#/s/foo_bar'}, b: {$ref: '#/s/FooBar'}}}\ns:\n  foo_bar: {type: object, properties: {a: {type: string}}}\n  FooBar: «{type: object, properties: {b: {type: string}}}", []diag.Code{diag.NameClash}},
		{"payload: {type: object, properties: {a: {$ref: '#/MsgHeaders'}}}\nheaders: {$ref: '#/MsgHeaders'}\nMsgHeaders: «{type: object, properties: {x: {type: string}}}", []diag.Code{diag.NameClash}},
		{"payload: {$ref: '#/p'}\np: «{description: d, allOf: [{$ref: '#/p'}]}", []diag.Code{diag.RefLoop}},
		{"payload: {$ref: '#/p'}\np: «{description: d, allOf: [{$ref: '#/q'}]}\nq: {description: d, oneOf: [{$ref: '#/p'}]}", []diag.Code{diag.RefLoop}},
		{"payload: {type: object, required: [a, b], properties: {a: {$ref: '#/a'}, b: {type: object, required: [a], properties: {a: {$ref: '#/a'}}}}}\na: {type: object, required: [a], properties: {«a: {$ref: '#/a'}}}", []diag.Code{diag.SchemaEndless}},
		{"payload: {$ref: '#/a'}\na: «{type: array, minItems: 1, items: {$ref: '#/a'}}", []diag.Code{diag.SchemaEndless}},
	} {
		clean, places := diagtest.Marked([]string{"a.yaml"}, map[string]string{"a.yaml": tc.text})
		_, _, problems := build(clean["a.yaml"], schema.Options{})
		seen.Add(problems)
		var got, want []string
		for _, p := range problems {
			got = append(got, fmt.Sprint(p.Pos, " ", p.Code))
		}
		for i, code := range tc.codes {
			want = append(want, fmt.Sprint(places[i], " ", code))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %v\nwant %v\n%v", tc.text, got, want, problems)
		}
	}
	seen.Check(t, 80, 110)
}
