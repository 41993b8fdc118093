package schema

import "github.com/idem-go/idem/gen/internal/model"

// maxByValue is how many values, members of members included, a struct may have
// for another one to hold it by value.
const maxByValue = 256

// layOut says which members are held by pointer though they could be held by
// value: the struct would contain itself, or, with large members of large
// members, have no bounds.
func layOut(types []*model.Type) {
	l := layout{circle: map[*model.Type]int{}, order: map[*model.Type]int{}, size: map[*model.Type]int{}}
	for _, t := range types {
		if l.order[t] == 0 {
			l.visit(t)
		}
	}
}

// layout finds the circles of types that hold each other by value: the strongly
// connected components (R. Tarjan, 1972). A component is complete when all that
// it holds is.
type layout struct {
	order  map[*model.Type]int // in which types were met, from 1
	circle map[*model.Type]int // the component of a type, once it is complete
	size   map[*model.Type]int // how many values it has, once its component is complete
	open   []*model.Type
}

// visit returns the lowest order that is reached from t by open types.
func (l *layout) visit(t *model.Type) int {
	low := len(l.order) + 1
	l.order[t] = low
	first := len(l.open)
	l.open = append(l.open, t)
	for _, f := range t.Fields {
		switch {
		case !heldByValue(t, f) || l.circle[f.Type] != 0:
		case l.order[f.Type] == 0:
			low = min(low, l.visit(f.Type))
		default:
			low = min(low, l.order[f.Type])
		}
	}
	if low == l.order[t] {
		for _, part := range l.open[first:] {
			l.circle[part] = low
		}
		for _, part := range l.open[first:] {
			l.size[part] = l.measure(part)
		}
		l.open = l.open[:first]
	}
	return low
}

// measure decides how a type of a complete component holds its members.
func (l *layout) measure(t *model.Type) int {
	size := max(len(t.Fields), 1)
	for _, f := range t.Fields {
		if !heldByValue(t, f) {
			continue
		}
		f.Indirect = l.circle[f.Type] == l.circle[t] || l.size[f.Type] > maxByValue
		if !f.Indirect {
			size += l.size[f.Type] - 1
		}
	}
	return size
}

// heldByValue reports whether a member is an object in the struct itself, or in a
// contract.Optional.
func heldByValue(owner *model.Type, f *model.Field) bool {
	return !owner.Declared && f.Type.Kind == model.Object && f.Required != f.Nullable
}
