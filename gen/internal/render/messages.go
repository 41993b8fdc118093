package render

import (
	"bytes"
	"fmt"
	"go/format"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/model"
)

// contractPath is the library that generated messages run on.
const contractPath = library + "/framework/contract"

// Messages renders the types of a contract: for each its declaration, how it
// is decoded and written, and Validate. Of a type that is the user's own Go
// code it is only Validate.
func Messages(c *model.Contract, pkg string) ([]byte, error) {
	m := &messages{Builder: &strings.Builder{}, use: imports{}, patterns: map[string]string{}, checked: map[*model.Type]bool{}, decoded: decodedPayloads(c), doc: true}
	for _, t := range c.Types {
		if t.Declared {
			m.doc = false
		}
	}
	for _, t := range c.Types {
		if err := noAnonymousCycle(t, nil); err != nil {
			return nil, err
		}
		m.typ(t)
	}
	var b bytes.Buffer
	b.WriteString(header + "// source: " + oneLine(c.Source) + "\n\n")
	if m.doc {
		b.WriteString(comment("Package " + pkg + " holds the messages and operations of the contract."))
	}
	b.WriteString("package " + pkg + "\n\n")
	m.use.write(&b)
	b.WriteString(m.String())
	m.writePatterns(&b)
	body, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("messages do not parse: %w", err)
	}
	return body, nil
}

// messages writes messages_gen.go.
type messages struct {
	*strings.Builder
	use imports
	// patterns are the variables of regular expressions, patternList the
	// expressions in the order of their variables.
	patterns    map[string]string
	patternList []string
	// checked remembers isChecked.
	checked map[*model.Type]bool
	// decoded are payloads that the engine decodes through their DecodeMessage.
	decoded map[string]bool
	doc     bool // the package has no comment yet
}

func (m *messages) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// aside collects what write writes instead of writing it.
func (m *messages) aside(write func()) string {
	before := m.Builder
	defer func() { m.Builder = before }()
	m.Builder = &strings.Builder{}
	write()
	return m.String()
}

func (m *messages) typ(t *model.Type) {
	if t.Declared {
		if t.Kind == model.Object {
			m.validate(t)
		}
		return
	}
	m.line("")
	m.WriteString(typeComment(t))
	switch t.Kind {
	case model.Object:
		m.structType(t)
	case model.Union:
		m.unionType(t)
	default:
		m.line("type %s %s", t.Name, underlying(t))
		m.enum(t)
	}
	if t.Kind >= model.Object || t.Kind == model.Raw {
		m.decoding(t)
		m.encoding(t)
	}
	m.validate(t)
}

func typeComment(t *model.Type) string {
	what := "is part of the contract."
	switch {
	case t.Kind == model.Union:
		what = "is exactly one of its fields."
	case len(t.Enum) > 0 && t.OpenEnum:
		what = "is one of the constants, or a value that came later."
	case len(t.Enum) > 0:
		what = "is one of the constants."
	}
	if t.Description != "" {
		return comment(t.Name+": "+t.Description, unlessPlain(t, t.Name+" "+what))
	}
	return comment(t.Name + " " + what)
}

func unlessPlain(t *model.Type, s string) string {
	if t.Kind == model.Union || len(t.Enum) > 0 {
		return s
	}
	return ""
}

func (m *messages) structType(t *model.Type) {
	m.line("type %s struct {", t.Name)
	for _, f := range t.Fields {
		m.WriteString(comment(f.Description))
		m.line("%s %s %s", f.GoName, m.fieldType(t, f), tag(f))
	}
	if t.Extra != nil {
		m.WriteString(comment("Members with other names."))
		m.line("%s map[string]%s `json:\"-\"`", extraName(t), m.elemType(t.Extra, t.ExtraNullable))
	}
	m.line("}")
}

func tag(f *model.Field) string {
	name := f.Name
	if !fitsTag(name) {
		return "`json:\"-\"`"
	}
	if name == "-" {
		name = "-,"
	}
	if !f.Required {
		name = strings.TrimSuffix(name, ",") + ",omitzero"
	}
	return "`json:" + strconv.Quote(name) + "`"
}

// fitsTag reports whether encoding/json takes the name from a tag.
func fitsTag(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != "" && utf8.ValidString(name)
}

// extraName is the field that holds members which are not declared.
func extraName(t *model.Type) string {
	name := "Extra"
	for i := 0; i < len(t.Fields); i++ {
		if t.Fields[i].GoName == name {
			name, i = name+"Members", -1
		}
	}
	return name
}

func (m *messages) unionType(t *model.Type) {
	m.line("type %s struct {", t.Name)
	for _, v := range t.Variants {
		if isNilable(v.Type) {
			m.line("%s %s", v.GoName, m.goType(v.Type))
		} else {
			m.line("%s *%s", v.GoName, m.goType(v.Type))
		}
	}
	m.line("}")
}

func (m *messages) enum(t *model.Type) {
	if len(t.Enum) == 0 {
		return
	}
	m.line("\n// Values of %s.\nconst (", t.Name)
	seen := map[string]bool{}
	var names []string
	for _, e := range t.Enum {
		value := literal(t, e.Value)
		m.line("%s %s = %s", e.GoName, t.Name, value)
		if !seen[value] {
			seen[value] = true
			names = append(names, e.GoName)
		}
	}
	m.line(")\n\n// Known reports whether v is one of the constants.\nfunc (v %s) Known() bool {\nswitch v {", t.Name)
	m.line("case %s:\nreturn true\n}\nreturn false\n}", strings.Join(names, ", "))
}

// literal is a value of an Enum in Go.
func literal(t *model.Type, value string) string {
	if t.Kind == model.Int {
		return integerText(value)
	}
	return goString(value)
}

// goType is the type in Go, and remembers what it needs.
func (m *messages) goType(t *model.Type) string {
	s := goType(t)
	if strings.Contains(s, "json.") {
		m.use["encoding/json"] = std
	}
	return s
}

func (m *messages) elemType(t *model.Type, nullable bool) string {
	m.goType(t)
	return pointerIf(nullable, t)
}

// underlying is what a named type is made of.
func underlying(t *model.Type) string {
	plain := *t
	plain.Name = ""
	return goType(&plain)
}

func (m *messages) writePatterns(b *bytes.Buffer) {
	if len(m.patternList) == 0 {
		return
	}
	b.WriteString("\nvar (\n")
	for _, p := range m.patternList {
		fmt.Fprintf(b, "%s = contract.NewPattern(%s)\n", m.patterns[p], goString(p))
	}
	b.WriteString(")\n")
}

// pattern is the variable of a regular expression.
func (m *messages) pattern(expression string) string {
	name, ok := m.patterns[expression]
	if !ok {
		name = "idemPattern" + strconv.Itoa(len(m.patternList)+1)
		m.patterns[expression] = name
		m.patternList = append(m.patternList, expression)
	}
	return name
}

// decodedPayloads are the types of payloads which the engine decodes, but for
// those whose headers the operations check.
func decodedPayloads(c *model.Contract) map[string]bool {
	out := map[string]bool{}
	for _, o := range newOperations(c, Settings{}) {
		if !o.Wrapped && o.Messages[0].Headers == nil {
			out[o.Payload] = true
		}
	}
	return out
}
