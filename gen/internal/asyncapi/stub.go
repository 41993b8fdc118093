package asyncapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// stub stands in for the package schema until that is there.
type stub struct {
	set   *source.Set
	named []*model.Type
	known map[*source.Node]*model.Type
}

func newTypes(set *source.Set, _ *diag.List, _ Options) types {
	return &stub{set: set, known: map[*source.Node]*model.Type{}}
}

func (s *stub) Name(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			up = true
			continue
		}
		if up {
			r = rune(strings.ToUpper(string(r))[0])
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}

func (s *stub) Types() []*model.Type {
	slices.SortFunc(s.named, func(a, b *model.Type) int { return cmp.Compare(a.Name, b.Name) })
	return s.named
}

func (s *stub) Payload(n *source.Node, goName string) *model.Type { return s.typ(n, goName) }
func (s *stub) Headers(n *source.Node, goName string) *model.Type { return s.typ(n, goName) }

func (s *stub) typ(n *source.Node, goName string) *model.Type {
	if n = s.set.Deref(n); n == nil {
		return nil
	}
	if t := s.known[n]; t != nil {
		return t
	}
	t := &model.Type{Pos: n.Pos, Source: n.Source()}
	s.known[n] = t
	kind := n.Get("type")
	if kind != nil && kind.Kind == source.List && len(kind.Items) > 0 {
		kind = kind.Items[0]
	}
	if kind == nil {
		return t
	}
	if c := n.Get("const"); c != nil {
		t.Const = `"` + c.Text + `"`
	}
	switch kind.Text {
	case "object":
		t.Kind, t.Name = model.Object, goName
		s.named = append(s.named, t)
		required := map[string]bool{}
		if r := n.Get("required"); r != nil {
			for _, item := range r.Items {
				required[item.Text] = true
			}
		}
		if p := n.Get("properties"); p != nil {
			for _, f := range p.Fields {
				field := &model.Field{Name: f.Name, GoName: s.Name(f.Name), Required: required[f.Name], Pos: f.NamePos}
				field.Type = s.typ(f.Value, goName+s.Name(f.Name))
				if k := f.Value.Get("type"); k != nil && k.Kind == source.List {
					field.Nullable = true
				}
				t.Fields = append(t.Fields, field)
			}
		}
	case "array":
		t.Kind = model.Array
		if t.Elem = s.typ(n.Get("items"), goName+"Item"); t.Elem == nil {
			t.Elem = &model.Type{}
		}
	case "string":
		t.Kind = model.String
	case "integer":
		t.Kind = model.Int
	case "number":
		t.Kind = model.Float
	case "boolean":
		t.Kind = model.Bool
	}
	return t
}
