package schema_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/schema"
)

// A struct that would contain itself, in however many steps, does not; what is
// beside the circle, or beyond it, is held by value.
func TestCirclesAreHeldByPointer(t *testing.T) {
	_, types, problems := build(`
payload: {type: object, required: [a, end], properties: {a: {$ref: '#/a'}, end: {$ref: '#/end'}}}
a: {type: object, required: [b, end], properties: {b: {$ref: '#/b'}, end: {$ref: '#/end'}, list: {type: array, items: {$ref: '#/a'}}}}
b: {type: object, required: [end], properties: {a: {oneOf: [{$ref: '#/a'}, {type: 'null'}]}, self: {oneOf: [{$ref: '#/b'}, {type: 'null'}]}, end: {$ref: '#/end'}}}
end: {type: object, properties: {x: {type: string}}}
`, schema.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"A.B", "B.A", "B.Self"}, indirect(types)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Three of the next component in each would be 3^20 values in one struct.
func TestStructsHaveBounds(t *testing.T) {
	_, types, problems := build(chain(20, "{type: object, required: [a, b, c], properties: {a: {$ref: '#/s@'}, b: {$ref: '#/s@'}, c: {$ref: '#/s@'}}}"), schema.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var size func(*model.Type) int
	size = func(t *model.Type) int {
		n := 1
		for _, f := range t.Fields {
			if f.Type.Kind == model.Object && f.Required && !f.Indirect {
				n += size(f.Type)
			}
		}
		return n
	}
	largest := 0
	for _, typ := range types {
		largest = max(largest, size(typ))
	}
	if largest < 100 || largest > 2000 {
		t.Errorf("the largest struct has %d structs in it", largest)
	}
}

func indirect(types []*model.Type) (out []string) {
	for _, t := range types {
		for _, f := range t.Fields {
			if f.Indirect {
				out = append(out, t.Name+"."+f.GoName)
			}
		}
	}
	slices.Sort(out)
	return out
}
