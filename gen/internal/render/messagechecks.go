package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// validate writes Validate of a type.
func (m *messages) validate(t *model.Type) {
	checks := m.aside(func() {
		switch {
		case t.Kind == model.Object:
			m.checkObject(t)
		case t.Kind == model.Union:
			m.checkUnion(t)
		case isNilable(t):
			m.checkNotNil("m", t, "")
			m.ownChecks("m", t, "", 0)
		default:
			m.ownChecks("m", t, "", 0)
		}
	})
	m.line("\n// Validate reports every rule of the contract that the value breaks, by place.")
	if checks == "" {
		m.line("func (%s) Validate() error { return nil }", t.Name)
		return
	}
	m.use[contractPath] = ""
	m.line("func (m %s) Validate() error {\nvar c contract.Checker\n%sreturn c.Err()\n}", t.Name, checks)
}

// check writes a check. The path has a comma before each step.
func (m *messages) check(condition, rule, path string) {
	m.line("c.Check(%s, %s%s)", condition, goString(rule), path)
}

func (m *messages) checkNotNil(x string, t *model.Type, path string) {
	if t.Kind != model.Raw && t.MinItems != nil && *t.MinItems > 0 {
		return // nil has too few elements
	}
	m.check(x+" != nil", "must be there", path)
}

func (m *messages) checkObject(t *model.Type) {
	if (t.MinItems != nil || t.MaxItems != nil) && (!countedWhileDecoding(t) || t.MaxItems != nil) {
		m.countFields(t)
	}
	for _, f := range t.Fields {
		if holdingOf(t, f) == heldOptional && byPointerThough(t, f) {
			if m.facts.isChecked(f.Type) {
				m.line("if v, ok := m.%s.Get(); ok && v != nil {\nc.Nested(v.Validate(), %s)\n}", f.GoName, strconv.Quote(f.Name))
			}
			continue
		}
		m.checkHeld("m."+f.GoName, f.Type, holdingOf(t, f), f.Required && !f.Nullable, ", "+strconv.Quote(f.Name), 0)
	}
	if t.Extra == nil {
		return
	}
	clash := len(t.Fields) > 0
	elem := m.aside(func() {
		m.checkHeld("e", t.Extra, elemHolding(t.Extra, t.ExtraNullable, t.Declared), !t.ExtraNullable, ", name", 1)
	})
	switch extra := "m." + extraName(t); {
	case !clash && elem == "":
		return
	case elem == "":
		m.line("for name := range %s {", extra)
	default:
		m.line("for name, e := range %s {", extra)
	}
	if clash {
		names := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			names[i] = strconv.Quote(f.Name)
		}
		m.line("switch name {\ncase %s:", strings.Join(names, ", "))
		m.check("false", "has a field of its own", ", name")
		m.line("}")
	}
	m.line("%s}", elem)
}

// countFields writes checks of the number of members that are set.
func (m *messages) countFields(t *model.Type) {
	fixed := 0
	count := m.aside(func() {
		for _, f := range t.Fields {
			x := "m." + f.GoName
			switch h := holdingOf(t, f); {
			case f.Required:
				fixed++
			case h == heldZeroable:
				m.line("if %s {\nn++\n}", notZero(x, f.Type))
			default:
				m.line("if %s {\nn++\n}", isSet(x, h))
			}
		}
	})
	n := strconv.Itoa(fixed)
	if t.Extra != nil {
		n += " + len(m." + extraName(t) + ")"
	}
	m.line("n := %s\n%s", n, strings.TrimSuffix(count, "\n"))
	counted := *t
	if countedWhileDecoding(t) {
		counted.MinItems = nil // others may have been ignored
	}
	m.count(&counted, func(condition, rule string) { m.check(condition, rule, "") }, "n")
}

func (m *messages) checkUnion(t *model.Type) {
	m.line("n := 0")
	for _, v := range t.Variants {
		x, h := "m."+v.GoName, heldPointer
		if isNilable(v.Type) {
			h = heldNilable
		}
		m.line("if %s {\nn++", isSet(x, h))
		m.checkHeld(x, v.Type, heldPlain, false, "", 0, h == heldPointer)
		m.line("}")
	}
	m.check("n == 1", "must have exactly one variant", "")
}

func elemHolding(t *model.Type, nullable, declared bool) holding {
	switch {
	case nullable && t.Kind == model.Raw && declared, isNilable(t):
		return heldNilable
	case nullable:
		return heldPointer
	default:
		return heldPlain
	}
}

// checkHeld writes the checks of a value that is held somehow; must says that
// it cannot be nil. If through, x is a pointer that is not nil.
func (m *messages) checkHeld(x string, t *model.Type, h holding, must bool, path string, depth int, through ...bool) {
	inner := func(x string) string { return m.aside(func() { m.checkValue(x, t, path, depth) }) }
	guard := func(condition, checks string) {
		if checks != "" {
			m.line("if %s {\n%s}", condition, checks)
		}
	}
	if h == heldPlain && slices.Contains(through, true) {
		h = heldPlain
		if !nested(t) {
			x = "*" + x
		}
	}
	switch h {
	case heldNilable:
		checks := inner(x)
		switch {
		case !must && !nested(t) && onlyElements(t):
			m.WriteString(checks)
		case !must:
			guard(x+" != nil", checks)
		case nested(t):
			m.WriteString(checks)
		default:
			m.checkNotNil(x, t, path)
			m.WriteString(checks)
		}
	case heldPointer:
		if must && strings.HasPrefix(path, ", ") && byPointerOnly(t) {
			m.check(x+" != nil", "must be there", path)
		}
		to := x
		if !nested(t) {
			to = "*" + x
		}
		guard(x+" != nil", inner(to))
	case heldOptional:
		v := numbered("v", depth)
		if isNilable(t) && !nested(t) {
			guard(fmt.Sprintf("%s, ok := %s.Get(); ok", v, x), m.aside(func() {
				m.checkNotNil(v, t, path)
				m.checkValue(v, t, path, depth)
			}))
			return
		}
		guard(fmt.Sprintf("%s, ok := %s.Get(); ok", v, x), inner(v))
	case heldZeroable:
		guard(notZero(x, t), inner(x))
	default:
		m.WriteString(inner(x))
	}
}

// onlyElements reports whether the checks of a list are those of its elements,
// of which nil has none.
func onlyElements(t *model.Type) bool {
	return t.MinItems == nil && t.MaxItems == nil && (!t.UniqueItems || uniqueWhileDecoding(t))
}

// byPointerOnly reports whether a value that must be there is held by pointer:
// only an object is.
func byPointerOnly(t *model.Type) bool { return t.Kind == model.Object }

// nested reports whether a type has a Validate of its own.
func nested(t *model.Type) bool {
	return t.Kind == model.Object || t.Name != "" && !t.Declared
}

// notZero is the condition that a value of a Declared type is not zero.
func notZero(x string, t *model.Type) string {
	switch {
	case t.GoType != "" || t.Kind == model.Object:
		return "!contract.IsZero(" + x + ")"
	case t.Kind == model.String:
		return x + ` != ""`
	case t.Kind == model.Bool:
		return "bool(" + x + ")"
	default:
		return x + " != 0"
	}
}

// checkValue writes the checks of a value that is there.
func (m *messages) checkValue(x string, t *model.Type, path string, depth int) {
	switch {
	case t.GoType != "":
	case !nested(t):
		m.ownChecks(x, t, path, depth)
	case m.facts.isChecked(t):
		m.line("c.Nested(%s.Validate()%s)", x, path)
	}
}

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
	h, must := elemHolding(t.Elem, t.ElemNullable, t.Declared), !t.ElemNullable
	if t.Elem.Kind == model.Raw && !t.Declared {
		must = true
	}
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
