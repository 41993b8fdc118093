package render

import (
	"fmt"
	"slices"

	"github.com/idem-go/idem/gen/internal/model"
)

// holding is how a field holds its value.
type holding int

const (
	// heldPlain: the value itself.
	heldPlain holding = iota
	// heldNilable: a slice, map or raw JSON, nil if there is none.
	heldNilable
	// heldPointer: nil if there is none.
	heldPointer
	// heldOptional: contract.Optional.
	heldOptional
	// heldZeroable: the value itself, whose zero value is none.
	heldZeroable
)

func isNilable(t *model.Type) bool {
	return t.Kind == model.Array || t.Kind == model.MapOf || t.Kind == model.Raw
}

// noAnonymousCycle makes sure that checks written in place come to an end.
func noAnonymousCycle(t *model.Type, path []*model.Type) error {
	for _, next := range parts(t) {
		if next.Kind == model.Object || next.Name != "" && !next.Declared {
			continue
		}
		if slices.Contains(path, next) {
			return fmt.Errorf("%s: a type without a name contains itself", t.Source)
		}
		if err := noAnonymousCycle(next, append(path, next)); err != nil {
			return err
		}
	}
	return nil
}

// parts are the types that a type is made of.
func parts(t *model.Type) []*model.Type {
	var out []*model.Type
	if t.Elem != nil {
		out = append(out, t.Elem)
	}
	if t.Extra != nil {
		out = append(out, t.Extra)
	}
	for _, f := range t.Fields {
		out = append(out, f.Type)
	}
	for _, v := range t.Variants {
		out = append(out, v.Type)
	}
	return out
}

// reaches reports whether a type, or one that it is made of, is as is says.
func reaches(t *model.Type, is func(*model.Type) bool) bool {
	seen := map[*model.Type]bool{}
	var walk func(*model.Type) bool
	walk = func(t *model.Type) bool {
		if seen[t] {
			return false
		}
		seen[t] = true
		return is(t) || slices.ContainsFunc(parts(t), walk)
	}
	return walk(t)
}

// isChecked reports whether Validate of a type can ever fail.
func (m *messages) isChecked(t *model.Type) bool {
	known, ok := m.checked[t]
	if !ok {
		known = reaches(t, hasRules)
		m.checked[t] = known
	}
	return known
}

// hasRules reports whether a type restricts its own values.
func hasRules(t *model.Type) bool {
	switch t.Kind {
	case model.Union, model.Float:
		return t.GoType == ""
	case model.Raw, model.Array, model.MapOf: // nil may be one too few
		return true
	case model.Object:
		if t.MinItems != nil || t.MaxItems != nil || t.Extra != nil && len(t.Fields) > 0 {
			return true
		}
		return slices.ContainsFunc(t.Fields, func(f *model.Field) bool { return f.Indirect })
	}
	return t.GoType == "" && (t.Const != "" || len(t.Enum) > 0 && !t.OpenEnum || t.Format != "" || t.Pattern != "" ||
		t.MinLength != nil || t.MaxLength != nil || t.MultipleOf != "" ||
		t.Minimum != "" || t.Maximum != "" || t.ExclusiveMinimum != "" || t.ExclusiveMaximum != "")
}

// holdingOf says how the field of an object holds its value.
func holdingOf(owner *model.Type, f *model.Field) holding {
	switch {
	case f.Type.Kind == model.Raw && !owner.Declared:
		return heldNilable // null is a value of its own
	case !f.Required && f.Nullable:
		return heldOptional
	case isNilable(f.Type):
		return heldNilable
	case f.ZeroAbsent:
		return heldZeroable
	case !f.Required || f.Nullable || f.Indirect:
		return heldPointer
	default:
		return heldPlain
	}
}

// fieldType is the Go type of a field.
func (m *messages) fieldType(owner *model.Type, f *model.Field) string {
	t := m.goType(f.Type)
	switch holdingOf(owner, f) {
	case heldPointer:
		return "*" + t
	case heldOptional:
		m.use[contractPath] = ""
		if f.Indirect {
			t = "*" + t
		}
		return "contract.Optional[" + t + "]"
	default:
		return t
	}
}

// loses reports whether decoded values may be equal though the JSON was not,
// since members are ignored.
func loses(t *model.Type) bool {
	return reaches(t, func(t *model.Type) bool { return t.Kind == model.Object && !t.Closed && t.Extra == nil })
}

// uniqueWhileDecoding reports whether the elements of an array are compared
// while it is decoded: Validate cannot if they lose members, and should not if
// they contain themselves, for it would compare them at every level.
func uniqueWhileDecoding(t *model.Type) bool {
	return t.UniqueItems && !t.Declared && (loses(t.Elem) ||
		reaches(t.Elem, func(part *model.Type) bool { return slices.Contains(parts(part), t) }))
}

// countedWhileDecoding reports whether members are counted while an object is
// decoded: those that are ignored count, too.
func countedWhileDecoding(t *model.Type) bool {
	return (t.MinItems != nil || t.MaxItems != nil) && !t.Closed && t.Extra == nil && !t.Declared
}
