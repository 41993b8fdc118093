package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// ownChecks writes the checks of a value in place.
func (m *messages) ownChecks(x string, t *model.Type, path string, depth int) {
	plain := m.unwrapped(x, t)
	if t.Const != "" {
		m.check(isConst(plain, t), "must be "+shorten(t.Const), path)
	}
	if len(t.Enum) > 0 && !t.OpenEnum {
		m.checkEnum(x, plain, t, path)
	}
	switch t.Kind {
	case model.String:
		m.checkString(plain, t, path)
	case model.Int:
		m.checkInt(plain, t, path)
	case model.Float:
		m.checkFloat(plain, t, path)
	case model.Array, model.MapOf:
		m.checkItems(x, t, path, depth)
	}
}

// unwrapped is a scalar as the predeclared type of its kind.
func (m *messages) unwrapped(x string, t *model.Type) string {
	switch {
	case t.Name == "" && !t.Declared:
		return x
	case t.Kind == model.Bool:
		return "bool(" + x + ")"
	case t.Kind == model.String:
		return "string(" + x + ")"
	case t.Kind == model.Int && t.Unsigned:
		return "uint64(" + x + ")"
	case t.Kind == model.Int:
		return "int64(" + x + ")"
	case t.Kind == model.Float && t.Declared:
		return "contract.Float(" + x + ")"
	case t.Kind == model.Float:
		return "float64(" + x + ")"
	default:
		return x
	}
}

// isConst is the condition that a scalar is the constant.
func isConst(x string, t *model.Type) string {
	c := parse([]byte(t.Const))
	switch {
	case c == nil:
	case t.Kind == model.Bool && c.kind == jsonTrue:
		return x
	case t.Kind == model.Bool && c.kind == jsonFalse:
		return "!" + x
	case t.Kind == model.String && c.kind == jsonString:
		return x + " == " + goString(c.text)
	case t.Kind == model.Float && c.kind == jsonNumber:
		_, number := floatBound(c.text, true, false)
		return x + " == " + number
	case t.Kind == model.Int && c.kind == jsonNumber:
		return x + " == " + integerText(c.text)
	}
	return "false"
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

func (m *messages) checkEnum(x, plain string, t *model.Type, path string) {
	const rule = "must be one of the contract's values"
	if !t.Declared && t.Name != "" {
		m.check(x+".Known()", rule, path)
		return
	}
	values := make([]string, len(t.Enum))
	for i, e := range t.Enum {
		values[i] = literal(t, e.Value)
	}
	m.check("contract.OneOf("+plain+", "+strings.Join(values, ", ")+")", rule, path)
}

func (m *messages) checkString(x string, t *model.Type, path string) {
	runes := func(operator string, n int) string {
		m.use["unicode/utf8"] = std
		return fmt.Sprintf("utf8.RuneCountInString(%s) %s %d", x, operator, n)
	}
	if n := t.MinLength; n != nil && *n == 1 {
		m.check(x+` != ""`, "must not be empty", path)
	} else if n != nil && *n > 1 {
		m.check(runes(">=", *n), "must have at least "+plural(*n, "character"), path)
	}
	if n := t.MaxLength; n != nil {
		m.check(runes("<=", *n), "must have at most "+plural(*n, "character"), path)
	}
	if t.Pattern != "" {
		m.check(m.pattern(t.Pattern)+".Match("+x+")", "must match "+shorten(t.Pattern), path)
	}
	function := map[string]string{
		"date-time": "IsDateTime", "date": "IsDate", "time": "IsTime", "uuid": "IsUUID", "email": "IsEmail", "uri": "IsURI",
	}[t.Format]
	if function != "" {
		m.check("contract."+function+"("+x+")", "must have the format "+t.Format, path)
	}
}

func (m *messages) checkInt(x string, t *model.Type, path string) {
	bound := func(bound string, of func(string, bool, bool) intBound, exclusive bool, rule string) {
		if bound == "" {
			return
		}
		if b := of(bound, exclusive, t.Unsigned); b.operator != "" {
			m.check(x+" "+b.operator+" "+b.number, rule+bound, path)
		}
	}
	bound(t.Minimum, leastInt, false, "must be at least ")
	bound(t.ExclusiveMinimum, leastInt, true, "must be more than ")
	bound(t.Maximum, mostInt, false, "must be at most ")
	bound(t.ExclusiveMaximum, mostInt, true, "must be less than ")
	if t.MultipleOf == "" {
		return
	}
	divisor := intDivisor(t.MultipleOf)
	condition := x + "%" + divisor.String() + " == 0"
	if _, most := intRange(t.Unsigned); divisor.Cmp(most) > 0 {
		condition = x + " == 0" // -1<<63 aside, no other multiple fits
	}
	if divisor.String() != "1" {
		m.check(condition, "must be a multiple of "+t.MultipleOf, path)
	}
}

func (m *messages) checkFloat(x string, t *model.Type, path string) {
	if t.Const == "" {
		m.check("contract.IsFinite("+x+")", "must be a finite number", path)
	}
	bound := func(bound string, minimum, exclusive bool, rule string) {
		if bound == "" {
			return
		}
		if operator, number := floatBound(bound, minimum, exclusive); operator != "" {
			m.check(x+" "+operator+" "+number, rule+bound, path)
		}
	}
	bound(t.Minimum, true, false, "must be at least ")
	bound(t.ExclusiveMinimum, true, true, "must be more than ")
	bound(t.Maximum, false, false, "must be at most ")
	bound(t.ExclusiveMaximum, false, true, "must be less than ")
	if t.MultipleOf != "" {
		m.check("contract.MultipleOf("+x+", "+strconv.Quote(t.MultipleOf)+")", "must be a multiple of "+t.MultipleOf, path)
	}
}

func (m *messages) checkItems(x string, t *model.Type, path string, depth int) {
	what := "member"
	if t.Kind == model.Array {
		what = "element"
	}
	if n := t.MinItems; n != nil && *n > 0 {
		m.check(fmt.Sprintf("len(%s) >= %d", x, *n), "must have at least "+plural(*n, what), path)
	}
	if n := t.MaxItems; n != nil {
		m.check(fmt.Sprintf("len(%s) <= %d", x, *n), "must have at most "+plural(*n, what), path)
	}
	h, must := elemHolding(t.Elem, t.ElemNullable), !t.ElemNullable || t.Elem.Kind == model.Raw
	if t.Kind == model.MapOf {
		name, e := numbered("name", depth), numbered("e", depth)
		if checks := m.aside(func() { m.checkHeld(e, t.Elem, h, must, path+", "+name, depth+1) }); checks != "" {
			m.line("for %s, %s := range %s {\n%s}", name, e, x, checks)
		}
		return
	}
	if t.UniqueItems && !uniqueWhileDecoding(t) {
		m.check(distinct(x, t), "must have no two equal elements", path)
	}
	i := numbered("i", depth)
	elem := x + "[" + i + "]"
	if strings.HasPrefix(x, "*") {
		elem = "(" + x + ")[" + i + "]"
	}
	if checks := m.aside(func() { m.checkHeld(elem, t.Elem, h, must, path+", "+i, depth+1) }); checks != "" {
		m.line("for %s := range %s {\n%s}", i, x, checks)
	}
}

// distinct is the condition that no two elements are equal.
func distinct(x string, t *model.Type) string {
	switch t.Elem.Kind {
	case model.Bool, model.Int, model.Float, model.String:
		if !t.ElemNullable && t.Elem.GoType == "" {
			return "contract.Distinct(" + x + ")"
		}
	}
	return "contract.DistinctJSON(" + x + ")"
}
