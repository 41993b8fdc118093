package render_test

import (
	"strings"
	"testing"

	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/render"
)

// byHand are types that the model allows and no schema leads to today.
func byHand(testing.TB) *model.Contract {
	integer, text := &model.Type{Kind: model.Int}, &model.Type{Kind: model.String}
	fields := func() []*model.Field {
		return []*model.Field{
			{Name: "a", GoName: "A", Type: integer, Required: true},
			{Name: "b", GoName: "B", Type: integer},
			{Name: "c", GoName: "C", Type: text, Nullable: true},
			{Name: "d", GoName: "D", Type: &model.Type{Kind: model.Array, Elem: text}},
		}
	}
	open := &model.Type{Name: "Open", Kind: model.Object, Fields: fields(), MinItems: new(2), MaxItems: new(3)}
	closed := &model.Type{Name: "Closed", Kind: model.Object, Fields: fields(), MinItems: new(2), MaxItems: new(3), Closed: true}
	extra := &model.Type{Name: "Extra", Kind: model.Object, Fields: append(fields(), &model.Field{Name: "extra", GoName: "Extra", Type: text}),
		MinItems: new(2), MaxItems: new(3), Extra: &model.Type{}}
	// A list of lists of its own type, and an object that would contain itself.
	list := &model.Type{Name: "List", Kind: model.Array, UniqueItems: true}
	list.Elem = list
	loop, link := &model.Type{Name: "Loop", Kind: model.Object}, &model.Type{Name: "Link", Kind: model.Object}
	loop.Fields = []*model.Field{{Name: "link", GoName: "Link", Type: link, Required: true, Indirect: true}}
	link.Fields = []*model.Field{{Name: "loop", GoName: "Loop", Type: loop, Nullable: true, Indirect: true}, {Name: "again", GoName: "Again", Type: loop, Required: true, Indirect: true}}
	number := &model.Type{Name: "Number", Kind: model.Int, Minimum: "1"}
	versions := &model.Type{Name: "Version", Kind: model.Union, Discriminator: "v"}
	for _, v := range []string{"1", "2"} {
		versions.Variants = append(versions.Variants, &model.Variant{GoName: "V" + v, Value: v, Type: &model.Type{
			Name: "Version" + v, Kind: model.Object,
			Fields: []*model.Field{{Name: "v", GoName: "V", Required: true, Type: &model.Type{Kind: model.Int, Const: v}}, {Name: "n", GoName: "N", Type: number}},
		}})
	}
	later := &model.Type{Name: "Later", Kind: model.String, OpenEnum: true, Enum: []model.EnumValue{{Value: "x", GoName: "LaterX"}}}
	raw := &model.Type{Name: "Raw", Kind: model.Raw}
	holder := &model.Type{Name: "Holder", Kind: model.Object, Fields: []*model.Field{
		{Name: "raw", GoName: "Raw", Type: raw, Nullable: true}, {Name: "later", GoName: "Later", Type: later}, {Name: "list", GoName: "List", Type: list, Nullable: true},
		{Name: "never", GoName: "Never", Type: &model.Type{Kind: model.Int, Minimum: "1e30"}, Nullable: true},
	}}
	return &model.Contract{Source: "byhand_test.go", Types: []*model.Type{
		closed, extra, holder, later, link, list, loop, number, open, raw, versions, versions.Variants[0].Type, versions.Variants[1].Type,
	}}
}

// A type without a name that contains itself cannot be written.
func TestAnonymousCycle(t *testing.T) {
	list := &model.Type{Kind: model.Array, Source: "x.yaml#/list"}
	list.Elem = list
	object := &model.Type{Name: "Object", Kind: model.Object, Fields: []*model.Field{{Name: "list", GoName: "List", Type: list}}}
	_, err := render.Messages(&model.Contract{Types: []*model.Type{object}}, "p")
	if err == nil || !strings.Contains(err.Error(), "x.yaml#/list") {
		t.Errorf("%v", err)
	}
}
