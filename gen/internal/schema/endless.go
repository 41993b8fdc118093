package schema

import (
	"strconv"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// checkEnds reports an object that must contain another one of its own type, and
// so on for ever: no message is long enough.
func (b *Builder) checkEnds() {
	ends := map[*model.Type]bool{}
	for changed := true; changed; {
		changed = false
		for i := len(b.types) - 1; i >= 0; i-- { // what a type is made of comes after it
			if t := b.types[i]; !ends[t] && firstEndless(t, ends) == nil {
				ends[t], changed = true, true
			}
		}
	}
	seen := map[*model.Type]bool{}
	for _, t := range b.types {
		path := map[*model.Type]bool{}
		at, what := t.Pos, "the schema"
		for !ends[t] && !seen[t] {
			seen[t], path[t] = true, true
			next := firstEndless(t, ends)
			if f := next.field; f != nil {
				at, what = f.Pos, "the member "+strconv.Quote(f.Name)
			}
			t = next.t
		}
		if path[t] { // else the circle was reported
			b.problems.Addf(diag.SchemaEndless, at, "make the member optional, nullable or a list", "%s must hold another %s, and so on without end", what, t.Name)
		}
	}
}

// step is a type that a value must contain, in a member if field is not nil.
type step struct {
	t     *model.Type
	field *model.Field
}

// firstEndless is a named type that every value of t must contain and that is not
// known to end; nil if there is none.
func firstEndless(t *model.Type, ends map[*model.Type]bool) *step {
	inside := func(part *model.Type) *step {
		switch {
		case part.Name == "":
			return firstEndless(part, ends)
		case ends[part]:
			return nil
		default:
			return &step{t: part}
		}
	}
	switch t.Kind {
	case model.Object:
		for _, f := range t.Fields {
			if !f.Required || f.Nullable {
				continue
			}
			if s := inside(f.Type); s != nil {
				return &step{s.t, f}
			}
		}
	case model.Array, model.MapOf:
		if t.MinItems != nil && *t.MinItems > 0 && !t.ElemNullable {
			return inside(t.Elem)
		}
	case model.Union:
		var first *step
		for _, v := range t.Variants {
			s := inside(v.Type)
			if s == nil {
				return nil
			}
			if first == nil {
				first = s
			}
		}
		return first
	}
	return nil
}
