package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// decoding writes how a type is decoded.
func (m *messages) decoding(t *model.Type) {
	m.use[contractPath] = ""
	m.line(`
// UnmarshalJSON decodes what the contract allows. Validate checks the values.
func (m *%s) UnmarshalJSON(data []byte) error {
	d := contract.NewDecoder(data)
	m.decode(d)
	return d.End()
}
`, t.Name)
	if m.decoded[t.Name] {
		m.use[library+"/framework/idem"] = ""
		m.line(`// DecodeMessage implements idem.MessageDecoder.
func (m *%s) DecodeMessage(_ idem.Info, payload []byte) error { return contract.Decode(payload, m) }
`, t.Name)
	}
	m.line("func (m *%s) decode(d *contract.Decoder) {", t.Name)
	switch t.Kind {
	case model.Object:
		m.decodeObject(t)
	case model.Union:
		m.decodeUnion(t)
	case model.Raw:
		m.line("*m = %s(d.Raw())", t.Name)
	default:
		m.decodeList("*m", "=", t, t.Name, 0)
	}
	m.line("}")
}

func (m *messages) decodeObject(t *model.Type) {
	m.line("*m = %s{}", t.Name)
	var required []string
	for _, f := range t.Fields {
		if f.Required {
			required = append(required, f.GoName)
		}
	}
	if len(required) > 0 {
		m.line("var has struct{ %s bool }", strings.Join(required, ", "))
	}
	counted := countedWhileDecoding(t)
	if counted {
		m.line("names := map[string]bool{}")
	}
	m.line("for d.Object() {")
	if counted {
		m.line("names[string(d.Name())] = true")
	}
	if len(t.Fields) > 0 {
		m.line("switch string(d.Name()) {")
		for _, f := range t.Fields {
			m.line("case %s:", strconv.Quote(f.Name))
			if f.Required {
				m.line("has.%s = true", f.GoName)
			}
			m.decodeField("m."+f.GoName, t, f)
		}
		m.line("default:")
	}
	switch {
	case t.Extra != nil:
		extra := "m." + extraName(t)
		m.line("if %s == nil {\n%s = map[string]%s{}\n}", extra, extra, m.elemType(t.Extra, t.ExtraNullable))
		m.decodeMember(extra, t.Extra, t.ExtraNullable, 0)
	case t.Closed:
		m.line("d.Unknown()")
	default:
		m.line("d.Skip()")
	}
	if len(t.Fields) > 0 {
		m.line("}")
	}
	m.line("}")
	for _, f := range t.Fields {
		if f.Required {
			m.line("d.Require(has.%s, %s)", f.GoName, strconv.Quote(f.Name))
		}
	}
	if counted {
		m.count(t, func(condition, rule string) { m.line("if !(%s) {\nd.Fail(%s)\n}", condition, strconv.Quote(rule)) }, "len(names)")
	}
}

// count writes checks of a number of members.
func (m *messages) count(t *model.Type, check func(condition, rule string), n string) {
	if t.MinItems != nil && *t.MinItems > 0 {
		check(fmt.Sprintf("%s >= %d", n, *t.MinItems), "must have at least "+plural(*t.MinItems, "member"))
	}
	if t.MaxItems != nil {
		check(fmt.Sprintf("%s <= %d", n, *t.MaxItems), "must have at most "+plural(*t.MaxItems, "member"))
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// decodeField writes how a field is read.
func (m *messages) decodeField(to string, owner *model.Type, f *model.Field) {
	t := f.Type
	switch holdingOf(owner, f) {
	case heldOptional:
		name, byPointer := m.goType(t), f.Indirect
		if byPointer {
			name = "*" + name
		}
		m.line("if d.Null() {\n%s = contract.Null[%s]()\n} else {", to, name)
		if e := m.scalar(t); e != "" {
			m.line("%s = contract.Of(%s)", to, e)
			m.line("}")
			return
		}
		if byPointer {
			m.line("v := new(%s)", t.Name)
		} else {
			m.line("var v %s", name)
		}
		m.decodeInto("v", t, name, 0)
		m.line("%s = contract.Of(v)", to)
		m.line("}")
	case heldPointer:
		if f.Nullable {
			m.line("if %s = nil; !d.Null() {", to)
			defer m.line("}")
		}
		m.decodePointer(to, t)
	case heldNilable:
		if f.Nullable && t.Kind != model.Raw {
			m.line("if %s = nil; !d.Null() {", to)
			m.decodeInto(to, t, m.goType(t), 0)
			m.line("}")
			return
		}
		m.decodeInto(to, t, m.goType(t), 0)
	default:
		m.decodeInto(to, t, m.goType(t), 0)
	}
}

func (m *messages) decodePointer(to string, t *model.Type) {
	if e := m.scalar(t); e != "" {
		m.line("%s = new(%s)", to, e)
		return
	}
	m.line("%s = new(%s)", to, m.goType(t))
	m.decodeInto(to, t, m.goType(t), 0)
}

// scalar is the expression that reads a scalar or raw JSON; "" for others.
func (m *messages) scalar(t *model.Type) string {
	var e string
	switch t.Kind {
	case model.Raw:
		e = "d.Raw()"
	case model.Bool:
		e = "d.Bool()"
	case model.Int:
		if e = "d.Int()"; t.Unsigned {
			e = "d.Uint()"
		}
	case model.Float:
		e = "d.Float()"
	case model.String:
		e = "d.String()"
	default:
		return ""
	}
	if t.Name != "" {
		return t.Name + "(" + e + ")"
	}
	return e
}

// decodeInto writes how a value that is not null is read into a variable of a
// Go type.
func (m *messages) decodeInto(to string, t *model.Type, typ string, depth int) {
	if e := m.scalar(t); e != "" {
		m.line("%s = %s", to, e)
		return
	}
	if t.Name != "" {
		m.line("%s.decode(d)", to)
		return
	}
	m.decodeList(to, "=", t, typ, depth)
}

// decodeList writes how an array or object is read into a slice or map. The
// operator is that of its first assignment.
func (m *messages) decodeList(to, operator string, t *model.Type, typ string, depth int) {
	if uniqueWhileDecoding(t) {
		m.line("d.Unique()")
	}
	m.line("%s %s %s{}", to, operator, typ)
	if t.Kind == model.MapOf {
		m.line("for d.Object() {")
		m.decodeMember(to, t.Elem, t.ElemNullable, depth)
		m.line("}")
		return
	}
	m.line("for d.Array() {")
	if e := m.scalar(t.Elem); e != "" && (!t.ElemNullable || t.Elem.Kind == model.Raw) {
		m.line("%s = append(%s, %s)\n}", to, to, e)
		return
	}
	e := m.decodeElem(t.Elem, t.ElemNullable, depth)
	m.line("%s = append(%s, %s)\n}", to, to, e)
}

// decodeMember writes how the member that comes next is read into a map.
func (m *messages) decodeMember(to string, elem *model.Type, nullable bool, depth int) {
	name := numbered("name", depth)
	m.line("%s := string(d.Name())", name)
	if strings.HasPrefix(to, "*") {
		to = "(" + to + ")"
	}
	if e := m.scalar(elem); e != "" && (!nullable || elem.Kind == model.Raw) {
		m.line("%s[%s] = %s", to, name, e)
		return
	}
	e := m.decodeElem(elem, nullable, depth)
	m.line("%s[%s] = %s", to, name, e)
}

// decodeElem writes how an element is read, and returns the variable.
func (m *messages) decodeElem(elem *model.Type, nullable bool, depth int) string {
	e, typ := numbered("e", depth), m.elemType(elem, nullable)
	if !nullable && elem.Name == "" { // a slice or map
		m.decodeList(e, ":=", elem, typ, depth+1)
		return e
	}
	m.line("var %s %s", e, typ)
	switch {
	case !nullable || elem.Kind == model.Raw:
		m.decodeInto(e, elem, typ, depth+1)
	case isNilable(elem):
		m.line("if !d.Null() {")
		m.decodeInto(e, elem, typ, depth+1)
		m.line("}")
	default:
		m.line("if !d.Null() {")
		m.decodePointer(e, elem)
		m.line("}")
	}
	return e
}

// numbered is a name of a variable that does not hide one further out.
func numbered(name string, depth int) string {
	if depth == 0 {
		return name
	}
	return name + strconv.Itoa(depth+1)
}

func (m *messages) decodeUnion(t *model.Type) {
	m.line("*m = %s{}", t.Name)
	if t.Discriminator != "" {
		m.line("switch d.Discriminator(%s) {", strconv.Quote(t.Discriminator))
	} else {
		m.line("switch d.Kind() {")
	}
	for _, v := range t.Variants {
		if t.Discriminator != "" {
			m.line("case %s:", goString(discriminatorValue(t, v)))
		} else {
			m.line("case %s:", jsonKind(v.Type))
		}
		to := "m." + v.GoName
		if isNilable(v.Type) {
			m.decodeInto(to, v.Type, m.goType(v.Type), 0)
		} else {
			m.decodePointer(to, v.Type)
		}
	}
	m.line("default:\nd.NoVariant(%s)\n}", strconv.Quote(t.Discriminator))
}

// discriminatorValue is a discriminator's value as the decoder gives it.
func discriminatorValue(t *model.Type, v *model.Variant) string {
	i := slices.IndexFunc(v.Type.Fields, func(f *model.Field) bool { return f.Name == t.Discriminator })
	if i >= 0 && v.Type.Fields[i].Type.Kind == model.Int {
		return integerText(v.Value)
	}
	return v.Value
}

func jsonKind(t *model.Type) string {
	switch t.Kind {
	case model.Bool:
		return "contract.KindBool"
	case model.Int, model.Float:
		return "contract.KindNumber"
	case model.String:
		return "contract.KindString"
	case model.Array:
		return "contract.KindArray"
	default:
		return "contract.KindObject"
	}
}

// encoding writes how a type is written, where encoding/json would not do.
func (m *messages) encoding(t *model.Type) {
	switch {
	case t.Kind == model.Union:
		m.use["encoding/json"] = std
		m.line("\n// MarshalJSON writes the field that is set.\nfunc (m %s) MarshalJSON() ([]byte, error) {\nswitch {", t.Name)
		for _, v := range t.Variants {
			m.line("case m.%s != nil:\nreturn json.Marshal(m.%s)", v.GoName, v.GoName)
		}
		m.line("default:\nreturn []byte(\"null\"), nil\n}\n}")
	case t.Kind == model.Raw:
		m.use["encoding/json"] = std
		m.line("\n// MarshalJSON writes the value as it is.\nfunc (m %s) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }", t.Name)
	case t.Kind == model.Object:
		m.encodeObject(t)
	}
}

func (m *messages) encodeObject(t *model.Type) {
	var odd []*model.Field
	for _, f := range t.Fields {
		if !fitsTag(f.Name) {
			odd = append(odd, f)
		}
	}
	if t.Extra == nil && len(odd) == 0 {
		return
	}
	m.line("\n// MarshalJSON writes the members that no tag can name, too.\nfunc (m %s) MarshalJSON() ([]byte, error) {\ntype plain %s", t.Name, t.Name)
	if len(odd) == 0 {
		m.line("return contract.MarshalExtra(plain(m), m.%s)\n}", extraName(t))
		return
	}
	m.line("more := map[string]any{}")
	if t.Extra != nil {
		m.line("for name, e := range m.%s {\nmore[name] = e\n}", extraName(t))
	}
	for _, f := range odd {
		set := fmt.Sprintf("more[%s] = m.%s", strconv.Quote(f.Name), f.GoName)
		if !f.Required {
			set = fmt.Sprintf("if %s {\n%s\n}", isSet("m."+f.GoName, holdingOf(t, f)), set)
		}
		m.line("%s", set)
	}
	m.line("return contract.MarshalExtra(plain(m), more)\n}")
}

// isSet is the condition that an optional field has a value or null.
func isSet(x string, h holding) string {
	if h == heldOptional {
		return "!" + x + ".IsZero()"
	}
	return x + " != nil"
}
