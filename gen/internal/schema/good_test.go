package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/schema"
)

// show writes a type as Go might, with ? for what may be null.
func show(t *model.Type, nullable bool) string {
	s := map[model.Kind]string{model.Raw: "any", model.Bool: "bool", model.Int: "int", model.Float: "float", model.String: "string"}[t.Kind]
	switch {
	case t.Name != "":
		s = t.Name
	case t.Kind == model.MapOf:
		s = "map " + show(t.Elem, t.ElemNullable)
	case t.Kind == model.Array:
		s = "[]" + show(t.Elem, t.ElemNullable)
	case t.Unsigned:
		s = "uint"
	}
	if t.Const != "" {
		s += "=" + t.Const
	}
	if nullable {
		s += "?"
	}
	return s
}

func declaration(t *model.Type) string {
	var parts []string
	for _, f := range t.Fields {
		name := f.GoName
		if !f.Required {
			name += "*"
		}
		parts = append(parts, name+" "+show(f.Type, f.Nullable))
	}
	for _, v := range t.Variants {
		parts = append(parts, v.GoName+"|"+v.Value+" "+show(v.Type, false))
	}
	for _, e := range t.Enum {
		parts = append(parts, e.GoName)
	}
	if t.Kind == model.Array || t.Kind == model.MapOf {
		parts = append(parts, "of "+show(t.Elem, t.ElemNullable))
	}
	if t.Extra != nil {
		parts = append(parts, "... "+show(t.Extra, t.ExtraNullable))
	}
	if t.Closed {
		parts = append(parts, "closed")
	}
	return fmt.Sprintf("%s{%s}", t.Name, strings.Join(parts, "; "))
}

func TestTypes(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"presence", "payload: {type: object, required: [a, b], properties: {a: {type: string}, b: {type: [integer, 'null']}, c: {type: number}, d: {nullable: true, type: boolean}, e: {type: string, nullable: true}}}",
			"Msg{A string; B int?; C* float; D* bool?; E* string?}"},
		{"no type, but values", "payload: {type: object, properties: {a: {const: x}, b: {enum: [null, p, q]}, c: {enum: [1]}, d: {}}}",
			"Msg{A* string=\"x\"; B* MsgB?; C* int=1; D* any}\nMsgB{MsgBP; MsgBQ}"},
		{"parts in any order", "payload: {required: [a], allOf: [{properties: {b: {type: string}}}, {$ref: '#/s'}], type: object}\ns: {properties: {a: {type: string}}}",
			"Msg{B* string; A string}"},
		{"a part twice", "payload: {allOf: [{$ref: '#/a'}, {$ref: '#/b'}]}\na: {allOf: [{$ref: '#/c'}]}\nb: {allOf: [{$ref: '#/c'}]}\nc: {type: object, properties: {x: {type: string}}}", "Msg{X* string}"},
		{"closed, and more is required", "payload: {type: object, additionalProperties: false, properties: {a: {type: string}}, allOf: [{required: [a]}]}", "Msg{A string; closed}"},
		{"members of other names", "payload: {type: object, properties: {a: {type: string}}, additionalProperties: {type: [integer, 'null']}}", "Msg{A* string; ... int?}"},
		{"maps", "payload: {type: object, properties: {a: {type: object}, b: {type: object, additionalProperties: {type: array, items: {type: object, properties: {x: {type: string}}}}}}}",
			"Msg{A* map any; B* map []MsgBValueItem}\nMsgBValueItem{X* string}"},
		{"integers", "payload: {type: object, properties: {a: {type: integer, minimum: 0}, b: {type: integer, minimum: 0, maximum: 18446744073709551615}, c: {type: integer, exclusiveMinimum: -1, exclusiveMaximum: 9223372036854775809}}}",
			"Msg{A* int; B* uint; C* uint}"},
		{"a list of itself", "payload: {type: object, properties: {a: {$ref: '#/tree'}}}\ntree: {type: array, items: {$ref: '#/tree'}}", "Msg{A* Tree}\nTree{of Tree}"},
		{"null and itself", "payload: {type: object, properties: {a: {$ref: '#/y'}}}\ny: {type: object, properties: {x: {$ref: '#/x'}}}\nx: {oneOf: [{$ref: '#/y'}, {type: 'null'}]}",
			"Msg{A* Y}\nY{X* Y?}"},
		{"another name for itself", "payload: {type: object, properties: {a: {$ref: '#/y'}}}\ny: {type: object, properties: {x: {$ref: '#/x'}}}\nx: {description: also, allOf: [{$ref: '#/y'}]}",
			"Msg{A* Y}\nY{X* Y}"},
		{"null inside allOf of itself", "payload: {type: object, properties: {a: {$ref: '#/y'}}}\ny: {allOf: [{type: [object, 'null'], properties: {x: {$ref: '#/y'}}}]}", "Msg{A* Y?}\nY{X* Y?}"},
		{"itself, merged with more", "payload: {type: object, properties: {a: {$ref: '#/y'}}}\ny: {type: array, items: {allOf: [{$ref: '#/y'}, {maxItems: 2}]}}",
			"Msg{A* []YItem}\nYItem{of YItem}"},
		{"itself as one part of a message", "payload: {type: object, properties: {a: {allOf: [{$ref: '#/payload'}, {maxProperties: 1}]}}}", "Msg{A* MsgA}\nMsgA{A* MsgA}"},
		{"a payload that is another schema with a description", "payload: {description: d, allOf: [{$ref: '#/c'}]}\nc: {type: object, properties: {e: {$ref: '#/e'}}}\ne: {type: object, required: [c], properties: {c: {$ref: '#/c'}}}",
			"E{C Msg}\nMsg{E* E}"},
		{"a payload that is another schema by another name", "payload: {oneOf: [{$ref: '#/p'}]}\np: {$ref: '#/c'}\nc: {type: object, properties: {c: {$ref: '#/c'}, p: {$ref: '#/p'}}}", "Msg{C* Msg; P* Msg}"},
		{"headers are not what members are", "payload: {type: object, properties: {h: {$ref: '#/h'}}}\nheaders: {description: d, allOf: [{$ref: '#/h'}]}\nh: {type: object, additionalProperties: false, properties: {x: {type: string}}}",
			"H{X* string; closed}\nMsg{H* H}\nMsgHeaders{X* string}"},
		{"a payload by its own name", "payload: {description: d, allOf: [{$ref: '#/msg'}]}\nmsg: {type: object, properties: {m: {$ref: '#/msg'}}}", "Msg{M* Msg}"},
		{"an expression, from inside", "payload: {type: object, properties: {a: {$ref: '#/add'}}}\nexpr: {oneOf: [{$ref: '#/add'}, {$ref: '#/num'}]}\n" +
			"num: {type: object, required: [op], properties: {op: {const: num}}}\nadd: {type: object, required: [op, l], properties: {op: {const: add}, l: {$ref: '#/expr'}}}",
			"Add{Op string=\"add\"; L Expr}\nExpr{Add|add Add; Num|num Num}\nMsg{A* Add}\nNum{Op string=\"num\"}"},
		{"values that look alike", "payload: {type: object, properties: {a: {enum: [x-y, x_y, XY, xY, '-1']}, b: {enum: [-1, 1]}}}",
			"Msg{A* MsgA; B* MsgB}\nMsgA{MsgAXY; MsgAXY2; MsgAXY3; MsgAXY4; MsgAN1}\nMsgB{MsgBMinus1; MsgBN1}"},
		{"a list as payload", "payload: {$ref: '#/Msg'}\nMsg: {type: array, items: {type: string}}", "Msg{of string}"},
	} {
		_, types, problems := build(tc.text, schema.Options{})
		var got []string
		for _, typ := range types {
			got = append(got, declaration(typ))
		}
		if d := cmp.Diff(tc.want, strings.Join(got, "\n")); d != "" || len(problems) > 0 {
			t.Errorf("%s: %s%v", tc.name, d, problems)
		}
	}
}
