package gosrc

import (
	"go/ast"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// object makes the type of a struct, once.
func (t *typeReader) object(d *decl, st *ast.StructType) *model.Type {
	at := t.pkg.pos(d.spec.Name.Pos())
	typ := &model.Type{
		Name: d.spec.Name.Name, Kind: model.Object, Description: docText(d.doc), Declared: true,
		Pos: at, Source: at.File + "#" + d.spec.Name.Name,
	}
	t.objects[d] = typ // before its fields: they may lead back to it
	r := &fieldReader{typeReader: t, typ: typ, names: map[string]diag.Pos{}, goNames: map[string]diag.Pos{}, embeds: map[*decl]bool{d: true}}
	r.fields(st)
	return typ
}

// fieldReader reads the fields of one object.
type fieldReader struct {
	*typeReader
	typ *model.Type
	// names are the members so far, goNames the fields.
	names, goNames map[string]diag.Pos
	embeds         map[*decl]bool // the struct itself and those embedded
}

func (r *fieldReader) fields(st *ast.StructType) {
	for _, f := range st.Fields.List {
		if ok := r.field(f); !ok {
			r.broken[r.typ] = true
		}
	}
}

func (r *fieldReader) field(f *ast.Field) bool {
	tag, ok := r.tag(f.Tag)
	if !ok {
		return false
	}
	if tag.json == "-" {
		return r.noRules(tag, "its json tag leaves the field out")
	}
	names := f.Names
	if len(names) == 0 {
		if name, _, _ := strings.Cut(tag.json, ","); name == "" {
			return r.embedded(f, tag)
		}
		names = []*ast.Ident{embeddedName(f.Type)}
	}
	ok = true
	for _, name := range names {
		switch {
		case name == nil || !name.IsExported():
			ok = r.noRules(tag, "the field is not exported") && ok
		default:
			ok = r.member(f, name, tag) && ok
		}
	}
	return ok
}

// noRules reports an idem tag where there is nothing to check.
func (r *fieldReader) noRules(tag fieldTag, why string) bool {
	if len(tag.rules) == 0 {
		return true
	}
	r.problems.Addf(diag.JSONTag, tag.idemPos, "leave out the idem tag", "the field is no part of the JSON: %s", why)
	return false
}

func embeddedName(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	default:
		return nil
	}
}

// embedded takes in the fields of an embedded struct, as encoding/json does.
func (r *fieldReader) embedded(f *ast.Field, tag fieldTag) bool {
	id, isIdent := ast.Unparen(f.Type).(*ast.Ident)
	d := r.pkg.typeOf(f.Type)
	var st *ast.StructType
	if d != nil && d.spec.TypeParams == nil {
		st = r.pkg.structOf(d)
	}
	switch {
	case isIdent && d == nil && r.pkg.predeclared(id) == "":
		_, ok := r.ident(id)
		return ok
	case st == nil:
		_, ok := r.unsupported(f.Type, "give the field a name", "only a struct of this package can be embedded, by value")
		return ok
	case r.embeds[d]:
		_, ok := r.unsupported(f.Type, "embed it once", "%s is embedded twice, or in itself", id.Name)
		return ok
	case len(tag.rules) > 0:
		r.problems.Addf(diag.BadRule, tag.idemPos, "write it at the fields of the struct", "an embedded struct has no value of its own")
		return false
	case !r.plainJSON(d):
		return false
	}
	r.embeds[d] = true
	r.fields(st)
	return true
}

// member adds a field of the struct as a member of the object.
func (r *fieldReader) member(f *ast.Field, name *ast.Ident, tag fieldTag) bool {
	at := r.pkg.pos(name.Pos())
	jsonName, omit, ok := r.jsonName(name.Name, tag)
	if !ok {
		return false
	}
	h, ok := r.read(f.Type)
	if !ok {
		return false
	}
	field := &model.Field{Name: jsonName, GoName: name.Name, Description: fieldDoc(f), Pos: at}
	if !r.presence(field, h, omit, tag) {
		return false
	}
	if first, taken := r.names[jsonName]; taken {
		r.problems.Add(diag.Problem{
			Code: diag.JSONTag, Pos: at, Message: "two fields are member " + strconv.Quote(jsonName) + " of the JSON", Fix: "give one another name in its json tag",
			Related: []diag.Related{{Pos: first, Note: "first here"}},
		})
		return false
	}
	if first, taken := r.goNames[name.Name]; taken {
		r.problems.Add(diag.Problem{
			Code: diag.JSONTag, Pos: at, Message: "field " + name.Name + " hides one of an embedded struct", Fix: "give one another name",
			Related: []diag.Related{{Pos: first, Note: "the other is here"}},
		})
		return false
	}
	r.names[jsonName], r.goNames[name.Name] = at, at
	field.Type = h.Type
	for _, rule := range tag.rules {
		if rule.name == "key" {
			ok = r.key(rule, jsonName) && ok
		} else {
			field.Type, ok = r.apply(rule, rule.name, field.Type, ok)
		}
	}
	ok = ok && r.consistent(field.Type, tag)
	r.typ.Fields = append(r.typ.Fields, field)
	return ok
}

func (r *fieldReader) key(rule rule, member string) bool {
	k := keyTag{pointer: "/" + source.Escape(member), pos: rule.pos}
	if rule.hasValue {
		n, err := strconv.Atoi(rule.value)
		if err != nil || n < 1 {
			r.problems.Addf(diag.BadRule, rule.valuePos, "write key=1, key=2 …", "the place of a key part must be a number from 1, is %q", rule.value)
			return false
		}
		k.order = n
	}
	r.keys[r.typ] = append(r.keys[r.typ], k)
	return true
}

// jsonName is the name of a field in JSON, and the option that leaves it out.
func (r *fieldReader) jsonName(goName string, tag fieldTag) (name, omit string, ok bool) {
	name, options, _ := strings.Cut(tag.json, ",")
	if name == "" {
		name = goName
	} else if !validMember(name) {
		r.problems.Addf(diag.JSONTag, tag.jsonPos, "use letters, digits and punctuation without quotes, backslash and comma", "encoding/json ignores the name %q", name)
		return "", "", false
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			if omit != "omitzero" {
				omit = option
			}
		case "string":
			r.problems.Addf(diag.JSONTag, tag.jsonPos, "declare the field as string", "idemgen does not support the json option string")
			return "", "", false
		default:
			r.problems.Addf(diag.JSONTag, tag.jsonPos, diag.Suggest(option, []string{"omitempty", "omitzero"}), "encoding/json has no option %q", option)
			return "", "", false
		}
	}
	return name, omit, true
}

// validMember says whether encoding/json takes a name from a tag.
func validMember(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return utf8.ValidString(name)
}

// presence says whether a member must be there and may be null: the way the
// fields of generated messages are declared, read backwards.
func (r *fieldReader) presence(field *model.Field, h held, omit string, tag fieldTag) bool {
	switch {
	case h.never && !h.pointer && omit == "omitempty":
		r.problems.Addf(diag.JSONTag, tag.jsonPos, "write omitzero", "omitempty never leaves out a value of this type")
		return false
	case h.optional && omit == "":
		r.problems.Addf(diag.JSONTag, tag.jsonPosOr(field.Pos), "add omitzero to its json tag", "an Optional that is absent would be written as null")
		return false
	case h.optional:
		field.Nullable = true
	case omit == "":
		field.Required, field.Nullable = true, h.pointer
	default:
		field.ZeroAbsent = !h.pointer && h.Kind != model.Array && h.Kind != model.MapOf && h.Kind != model.Raw
	}
	return true
}

func (t fieldTag) jsonPosOr(at diag.Pos) diag.Pos {
	if t.jsonPos.Line == 0 {
		return at
	}
	return t.jsonPos
}

// docText is a doc comment without directives.
func docText(g *ast.CommentGroup) string { return strings.TrimSpace(g.Text()) }

func fieldDoc(f *ast.Field) string {
	if text := docText(f.Doc); text != "" {
		return text
	}
	return docText(f.Comment)
}
