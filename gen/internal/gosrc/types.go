package gosrc

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// optionalPath is the package of the type Optional, which tells absent, null
// and a value apart.
const optionalPath = "github.com/idem-go/idem/framework/contract"

// typeReader makes model types of Go type expressions.
type typeReader struct {
	pkg      *pkg
	problems *diag.List
	openEnum bool

	objects map[*decl]*model.Type
	enums   map[*decl]*model.Type
	// broken are objects with a member that is not understood.
	broken map[*model.Type]bool
	keys   map[*model.Type][]keyTag
	// open are named types that are being followed.
	open map[*decl]bool
	// constants of the package by the names of their types, as written.
	constants map[string][]*constDecl
}

// keyTag is a field with key in its tag.
type keyTag struct {
	pointer string
	order   int // 0: as written
	pos     diag.Pos
}

func newTypes(p *pkg, problems *diag.List, openEnum bool) *typeReader {
	t := &typeReader{
		pkg: p, problems: problems, openEnum: openEnum,
		objects: map[*decl]*model.Type{}, enums: map[*decl]*model.Type{},
		broken: map[*model.Type]bool{}, keys: map[*model.Type][]keyTag{}, open: map[*decl]bool{},
		constants: map[string][]*constDecl{},
	}
	for name, c := range p.consts {
		if typ := p.typeOfConst(name); typ != "" {
			t.constants[typ] = append(t.constants[typ], c)
		}
	}
	for _, list := range t.constants {
		slices.SortFunc(list, func(a, b *constDecl) int { return cmp.Compare(a.name.Pos(), b.name.Pos()) })
	}
	return t
}

// reachable returns the named types that messages and results are made of, by
// name.
func reachable(c *model.Contract) []*model.Type {
	var out []*model.Type
	seen := map[*model.Type]bool{}
	var add func(*model.Type)
	add = func(typ *model.Type) {
		if typ == nil || seen[typ] {
			return
		}
		seen[typ] = true
		if typ.Name != "" {
			out = append(out, typ)
		}
		add(typ.Elem)
		for _, f := range typ.Fields {
			add(f.Type)
		}
	}
	for _, m := range c.Messages {
		add(m.Payload)
		add(m.Headers)
	}
	for _, op := range c.Operations {
		add(op.Result)
	}
	slices.SortFunc(out, func(a, b *model.Type) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// held is a type as a Go expression holds it.
type held struct {
	*model.Type
	pointer, optional bool
	// never: omitempty never leaves it out.
	never bool
}

func (t *typeReader) unsupported(at ast.Expr, fix, format string, args ...any) (held, bool) {
	t.problems.Addf(diag.GoUnsupported, t.pkg.pos(at.Pos()), fix, format, args...)
	return held{}, false
}

// read understands a type expression, or reports why it cannot.
func (t *typeReader) read(expr ast.Expr) (held, bool) {
	switch e := ast.Unparen(expr).(type) {
	case *ast.Ident:
		return t.ident(e)
	case *ast.SelectorExpr:
		return t.selector(e)
	case *ast.IndexExpr:
		return t.optional(e)
	case *ast.StarExpr:
		return t.pointer(e)
	case *ast.ArrayType:
		return t.array(e)
	case *ast.MapType:
		return t.mapOf(e)
	case *ast.StructType:
		return t.unsupported(expr, "declare it as a type with a name", "a struct without a name cannot have a Validate method")
	case *ast.InterfaceType:
		return t.unsupported(expr, "use json.RawMessage", "an interface says nothing about its JSON")
	default:
		return t.unsupported(expr, "", "%s has no JSON form", types.ExprString(expr))
	}
}

func (t *typeReader) ident(e *ast.Ident) (held, bool) {
	if d := t.pkg.typeOf(e); d != nil {
		return t.named(d, e)
	}
	basic := t.pkg.predeclared(e)
	if basic == "" {
		t.problems.Addf(diag.GoUndefined, t.pkg.pos(e.Pos()), diag.Suggest(e.Name, t.pkg.typeNames), "type %s is not declared in package %s", e.Name, t.pkg.name)
		return held{}, false
	}
	if typ := basicType(basic); typ != nil {
		return held{Type: typ}, true
	}
	if e.Name == "any" {
		return t.unsupported(e, "use json.RawMessage", "any says nothing about its JSON, and loses digits of large numbers")
	}
	return t.unsupported(e, "", "%s has no JSON form", e.Name)
}

// basicType is the type of a predeclared Go type; nil if JSON has no such
// thing. Narrow integers carry their range.
func basicType(name string) *model.Type {
	typ := &model.Type{Kind: model.Int, Declared: true}
	switch name {
	case "bool":
		typ.Kind = model.Bool
	case "string":
		typ.Kind = model.String
	case "float32", "float64":
		typ.Kind = model.Float
	case "int", "int64":
	case "int8":
		typ.Minimum, typ.Maximum = "-128", "127"
	case "int16":
		typ.Minimum, typ.Maximum = "-32768", "32767"
	case "int32", "rune":
		typ.Minimum, typ.Maximum = "-2147483648", "2147483647"
	case "uint8", "byte":
		typ.Minimum, typ.Maximum = "0", "255"
	case "uint16":
		typ.Minimum, typ.Maximum = "0", "65535"
	case "uint32":
		typ.Minimum, typ.Maximum = "0", "4294967295"
	case "uint", "uint64":
		typ.Minimum, typ.Maximum, typ.Unsigned = "0", "18446744073709551615", true
	default:
		return nil
	}
	return typ
}

// selector understands the few types of other packages.
func (t *typeReader) selector(e *ast.SelectorExpr) (held, bool) {
	name := types.ExprString(e)
	path := t.pkg.importPath(e)
	switch path + "." + e.Sel.Name {
	case "time.Time":
		return held{Type: &model.Type{Kind: model.String, Format: "date-time", Declared: true, GoType: "time.Time"}, never: true}, true
	case "github.com/google/uuid.UUID":
		return held{Type: &model.Type{Kind: model.String, Format: "uuid", Declared: true, GoType: "uuid.UUID"}, never: true}, true
	case "encoding/json.RawMessage":
		return held{Type: &model.Type{Kind: model.Raw, Declared: true}}, true
	case "time.Duration":
		return t.unsupported(e, "use int64 with the unit in the name, or a string", "the JSON of time.Duration is a number of nanoseconds, which few expect")
	case optionalPath + ".Optional":
		return t.unsupported(e, "write "+name+"[T]", "%s needs the type of its value", name)
	}
	if x := types.ExprString(e.X); path == "" && slices.Contains([]string{"time", "json", "uuid", "contract"}, x) {
		t.problems.Addf(diag.GoUndefined, t.pkg.pos(e.Pos()), "import its package", "type %s is not declared", name)
		return held{}, false
	}
	return t.unsupported(e, "use a type of this package, time.Time, uuid.UUID of google/uuid, json.RawMessage or contract.Optional", "idemgen does not know the JSON of %s", name)
}

func (t *typeReader) optional(e *ast.IndexExpr) (held, bool) {
	sel, ok := e.X.(*ast.SelectorExpr)
	if !ok || t.pkg.importPath(sel) != optionalPath || sel.Sel.Name != "Optional" {
		return t.unsupported(e, "write the type out", "%s is generic", types.ExprString(e))
	}
	inner, ok := t.read(e.Index)
	switch {
	case !ok:
		return inner, false
	case inner.pointer || inner.optional:
		return t.unsupported(e.Index, "use the type itself", "Optional tells null from a value already")
	}
	return held{Type: inner.Type, optional: true, never: true}, true
}

func (t *typeReader) pointer(e *ast.StarExpr) (held, bool) {
	inner, ok := t.read(e.X)
	switch {
	case !ok:
		return inner, false
	case inner.pointer || inner.optional:
		return t.unsupported(e, "use one", "a pointer to what may be null already")
	case inner.Kind == model.Array || inner.Kind == model.MapOf || inner.Kind == model.Raw:
		return t.unsupported(e, "leave out the *", "a slice or map needs no pointer: nil says the same")
	}
	return held{Type: inner.Type, pointer: true}, true
}

func (t *typeReader) array(e *ast.ArrayType) (held, bool) {
	if e.Len != nil {
		return t.unsupported(e, "use a slice, with minItems and maxItems in the idem tag", "an array drops or fills up elements without saying so")
	}
	elem, ok := t.read(e.Elt)
	switch {
	case !ok:
		return elem, false
	case elem.optional:
		return t.unsupported(e.Elt, "use a pointer", "an element cannot be absent")
	case elem.Kind == model.Int && !elem.pointer && t.isByte(e.Elt):
		return t.unsupported(e, "use string, or []int", "the JSON of a slice of bytes is text in base64")
	}
	return held{Type: &model.Type{Kind: model.Array, Elem: elem.Type, ElemNullable: elem.pointer, Declared: true}}, true
}

// isByte says whether a type comes down to uint8, which encoding/json treats on
// its own.
func (t *typeReader) isByte(e ast.Expr) bool {
	for range maxChain {
		d := t.pkg.typeOf(e)
		if d == nil {
			basic := t.pkg.predeclared(e)
			return basic == "byte" || basic == "uint8"
		}
		e = d.spec.Type
	}
	return false
}

func (t *typeReader) mapOf(e *ast.MapType) (held, bool) {
	if t.pkg.predeclared(e.Key) != "string" {
		return t.unsupported(e.Key, "use string", "the keys of a map must be strings")
	}
	elem, ok := t.read(e.Value)
	switch {
	case !ok:
		return elem, false
	case elem.optional:
		return t.unsupported(e.Value, "use a pointer", "an element cannot be absent")
	}
	return held{Type: &model.Type{Kind: model.MapOf, Elem: elem.Type, ElemNullable: elem.pointer, Declared: true}}, true
}

// named understands a type that the package declares.
func (t *typeReader) named(d *decl, at ast.Expr) (held, bool) {
	if typ := cmp.Or(t.objects[d], t.enums[d]); typ != nil {
		return held{Type: typ, never: typ.Kind == model.Object}, true
	}
	if d.spec.TypeParams != nil {
		return t.unsupported(at, "declare a type without parameters", "%s is generic", d.spec.Name.Name)
	}
	if t.open[d] || len(t.open) >= maxChain {
		return t.unsupported(at, "let it go through a struct", "%s is made of itself", d.spec.Name.Name)
	}
	if !d.spec.Assign.IsValid() && !t.plainJSON(d) {
		return held{}, false
	}
	if st := t.pkg.structOf(d); st != nil {
		if d.spec.Assign.IsValid() { // an alias stands for what it is of
			return t.read(d.spec.Type)
		}
		return held{Type: t.object(d, st), never: true}, true
	}
	t.open[d] = true
	defer delete(t.open, d)
	inner, ok := t.read(d.spec.Type)
	switch {
	case !ok || d.spec.Assign.IsValid():
		return inner, ok
	case inner.pointer || inner.optional || inner.GoType != "" || inner.Kind == model.Raw:
		return t.unsupported(at, fmt.Sprintf("use %s itself", types.ExprString(d.spec.Type)), "%s has not the JSON of the type that it is made of", d.spec.Name.Name)
	}
	if inner.Kind != model.String && inner.Kind != model.Int {
		return inner, true
	}
	return t.enum(d, inner)
}

// plainJSON reports methods by which a type would write its JSON itself.
func (t *typeReader) plainJSON(d *decl) bool {
	for _, m := range t.pkg.methods[d.spec.Name.Name] {
		switch m.Name {
		case "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalJSONTo", "UnmarshalJSONFrom":
			t.problems.Addf(diag.OwnMethod, t.pkg.pos(m.Pos()), "use the type that is in the JSON, and convert it in the handler",
				"with %s of its own the JSON of %s is unknown", m.Name, d.spec.Name.Name)
			return false
		case "Validate":
			if t.pkg.structOf(d) != nil {
				t.problems.Addf(diag.OwnMethod, t.pkg.pos(m.Pos()), "say it in idem tags, or give the method another name and call it in the handler",
					"%s has a method Validate, which idemgen would write", d.spec.Name.Name)
				return false
			}
		}
	}
	return true
}

// structOf is the struct that a declaration comes down to, or nil.
func (p *pkg) structOf(d *decl) *ast.StructType {
	for range maxChain {
		switch e := ast.Unparen(d.spec.Type).(type) {
		case *ast.StructType:
			return e
		case *ast.Ident:
			next := p.typeOf(e)
			if next == nil || next.spec.TypeParams != nil {
				return nil
			}
			d = next
		default:
			return nil
		}
	}
	return nil
}

// enum makes an enum of a named type with constants; without any it is just
// text or a number.
func (t *typeReader) enum(d *decl, inner held) (held, bool) {
	var values []model.EnumValue
	seen := map[string]bool{}
	for _, c := range t.constants[d.spec.Name.Name] {
		text, ok := constText(t.pkg.constant(c.name.Name), inner.Kind)
		if !ok {
			t.problems.Addf(diag.GoUnsupported, t.pkg.pos(c.name.Pos()), "write its value out", "idemgen cannot tell the value of constant %s", c.name.Name)
			continue
		}
		if !seen[text] {
			seen[text] = true
			values = append(values, model.EnumValue{Value: text, GoName: c.name.Name})
		}
	}
	if values == nil {
		return inner, true
	}
	typ := inner.Type
	typ.Minimum, typ.Maximum = "", ""
	typ.Name, typ.Enum, typ.OpenEnum = d.spec.Name.Name, values, t.openEnum
	typ.Description = docText(d.doc)
	typ.Pos = t.pkg.pos(d.spec.Name.Pos())
	typ.Source = typ.Pos.File + "#" + typ.Name
	t.enums[d] = typ
	return held{Type: typ}, true
}

func constText(v *constValue, kind model.Kind) (string, bool) {
	switch {
	case v == nil:
		return "", false
	case v.Kind() == constant.String && kind == model.String:
		text := constant.StringVal(v.Value)
		return text, utf8.ValidString(text)
	default:
		return v.ExactString(), v.Kind() == constant.Int && kind == model.Int
	}
}
