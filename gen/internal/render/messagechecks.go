package render

import (
	"fmt"
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
		if holdingOf(t, f) == heldOptional && f.Indirect {
			if m.isChecked(f.Type) {
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
		m.checkHeld("e", t.Extra, elemHolding(t.Extra, t.ExtraNullable), !t.ExtraNullable || t.Extra.Kind == model.Raw, ", name", 1)
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
		m.checkValue(behind(x, v.Type, h), v.Type, "", 0)
		m.line("}")
	}
	m.check("n == 1", "must have exactly one variant", "")
}

func elemHolding(t *model.Type, nullable bool) holding {
	switch {
	case isNilable(t):
		return heldNilable
	case nullable:
		return heldPointer
	default:
		return heldPlain
	}
}

// behind is the value that a field holds, if it holds one.
func behind(x string, t *model.Type, h holding) string {
	if h == heldPointer && !nested(t) { // a method needs no *
		return "*" + x
	}
	return x
}

// checkHeld writes the checks of a value that is held somehow; must says that
// it cannot be nil.
func (m *messages) checkHeld(x string, t *model.Type, h holding, must bool, path string, depth int) {
	inner := func(x string) string { return m.aside(func() { m.checkValue(x, t, path, depth) }) }
	guard := func(condition, checks string) {
		if checks != "" {
			m.line("if %s {\n%s}", condition, checks)
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
		if must {
			m.check(x+" != nil", "must be there", path)
		}
		guard(x+" != nil", inner(behind(x, t, h)))
	case heldOptional:
		v := numbered("v", depth)
		guard(fmt.Sprintf("%s, ok := %s.Get(); ok", v, x), m.aside(func() {
			if isNilable(t) && !nested(t) {
				m.checkNotNil(v, t, path)
			}
			m.checkValue(v, t, path, depth)
		}))
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
	case m.isChecked(t):
		m.line("c.Nested(%s.Validate()%s)", x, path)
	}
}
