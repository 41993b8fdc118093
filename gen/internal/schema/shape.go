package schema

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// shape is what a schema says together with everything in its allOf.
type shape struct {
	node *source.Node
	// parts is how many schemas say something about members.
	parts int

	types    []string // nil: any; without null
	typePos  diag.Pos
	typed    bool // a type was written
	notNull  bool // some part does not allow null
	nullable bool // some part allows null

	description string
	props       []property
	required    []*source.Node
	extra       *source.Field // additionalProperties
	items       *source.Field

	enum  *source.Field
	cnst  *source.Field
	oneOf *source.Field
	disc  *source.Field

	format, pattern *source.Field
	unique          bool
	numbers         map[string]bound // minimum … multipleOf
	counts          map[string]count // minLength … maxProperties
	rules           []source.Field   // keywords that tie a schema to a type
}

type property struct {
	source.Field
	node *source.Node // the schema, references followed one step less
}

type bound struct {
	text string
	pos  diag.Pos
}

type count struct {
	n   int
	pos diag.Pos
}

// collect reads a schema and everything in its allOf.
func (b *Builder) collect(n *source.Node) (*shape, bool) {
	sh := &shape{node: n, numbers: map[string]bound{}, counts: map[string]count{}}
	before := b.problems.Len()
	b.gather(sh, n, map[*source.Node]bool{}, map[*source.Node]bool{})
	if sh.parts > 1 && sh.extra != nil && sh.extra.Value.Kind == source.Bool && sh.extra.Value.Text == "false" {
		b.problems.Addf(diag.SchemaConflict, sh.extra.NamePos, "declare all members in one schema, or leave it out",
			"additionalProperties: false within allOf refuses the members of the other schemas")
	}
	return sh, b.problems.Len() == before
}

// gather adds what one schema says, once: open are those around it, done those
// that have been added.
func (b *Builder) gather(sh *shape, n *source.Node, open, done map[*source.Node]bool) {
	switch {
	case open[n]:
		b.problems.Addf(diag.RefLoop, n.Pos, "", "allOf leads back to itself")
		return
	case done[n]:
		return
	}
	open[n], done[n] = true, true
	defer delete(open, n)
	if n.Kind != source.Map {
		b.problems.Addf(diag.SchemaKind, n.Pos, "", "a schema must be an object, is %s", n.Kind)
		return
	}
	members := false
	types := sh.types
	nullable := false
	for i := range n.Fields {
		f := &n.Fields[i]
		switch kind, known := keywords()[f.Name]; {
		case strings.HasPrefix(f.Name, "x-"), known && kind.support == annotation:
			if f.Name == "description" && sh.description == "" && f.Value.Kind == source.String {
				sh.description = f.Value.Text
			}
		case !known:
			b.unknown(f)
		case kind.support == refused:
			b.problems.Addf(diag.SchemaUnsupported, f.NamePos, kind.note, "%q is not supported", f.Name)
		case f.Name == "allOf":
			b.gatherAll(sh, f, open, done)
			types = sh.types
		case f.Name == "type":
			types, nullable = b.typesOf(sh, f)
		case f.Name == "nullable":
			if f.Value.Kind != source.Bool {
				b.wrongKind(f, "true or false")
			}
			nullable = nullable || f.Value.Text == "true"
		default:
			members = b.keyword(sh, f) || members
		}
	}
	sh.types = types
	if members {
		sh.parts++
	}
	switch {
	case nullable:
		sh.nullable = true
	case n.Get("type") != nil:
		sh.notNull = true
	}
}

func (b *Builder) gatherAll(sh *shape, f *source.Field, open, done map[*source.Node]bool) {
	if f.Value.Kind != source.List || len(f.Value.Items) == 0 {
		b.wrongKind(f, "a list of schemas")
		return
	}
	for _, item := range f.Value.Items {
		if part := b.set.Deref(item); part != nil {
			b.gather(sh, part, open, done)
		}
	}
}

// typesOf narrows the types that are possible, and reports whether null is one.
func (b *Builder) typesOf(sh *shape, f *source.Field) (types []string, null bool) {
	items := []*source.Node{f.Value}
	if f.Value.Kind == source.List {
		items = f.Value.Items
	}
	for _, item := range items {
		switch {
		case item.Kind == source.Null, item.Kind == source.String && item.Text == "null":
			null = true
		case item.Kind != source.String:
			b.wrongKind(f, "the name of a type, or a list of them")
			return sh.types, false
		case !slices.Contains(typeNames(), item.Text):
			b.problems.Addf(diag.SchemaType, item.Pos, diag.Suggest(item.Text, typeNames()), "%q is not a type", item.Text)
			return sh.types, false
		case !slices.Contains(types, item.Text):
			types = append(types, item.Text)
		}
	}
	if sh.typed && sh.types != nil {
		both := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !slices.Contains(sh.types, t) })
		if len(both) == 0 && slices.Contains(types, "integer") && slices.Contains(sh.types, "number") ||
			len(both) == 0 && slices.Contains(types, "number") && slices.Contains(sh.types, "integer") {
			both = []string{"integer"}
		}
		if len(both) == 0 && len(types) > 0 {
			b.problems.Add(diag.Problem{
				Code: diag.SchemaConflict, Pos: f.Value.Pos, Message: "no value has both types that allOf asks for", Fix: "make them agree",
				Related: []diag.Related{{Pos: sh.typePos, Note: "the other type is here"}},
			})
		}
		types = both
	}
	sh.typed, sh.typePos = true, f.Value.Pos
	if types == nil {
		types = []string{}
	}
	return types, null
}

func typeNames() []string {
	return []string{"array", "boolean", "integer", "number", "object", "string"}
}

// keyword notes a supported keyword, and reports whether it is about members.
func (b *Builder) keyword(sh *shape, f *source.Field) (members bool) {
	switch f.Name {
	case "properties":
		b.properties(sh, f)
		return true
	case "required":
		b.requiredNames(sh, f)
	case "additionalProperties":
		if sh.extra != nil {
			b.twice(f, sh.extra)
		}
		sh.extra = f
		return true
	case "items":
		b.once(&sh.items, f)
	case "enum":
		b.once(&sh.enum, f)
	case "const":
		b.once(&sh.cnst, f)
	case "oneOf":
		b.once(&sh.oneOf, f)
	case "discriminator":
		b.once(&sh.disc, f)
	case "format":
		if f.Value.Kind != source.String {
			b.wrongKind(f, "the name of a format")
			return false
		}
		b.once(&sh.format, f)
	case "pattern":
		b.once(&sh.pattern, f)
		b.checkPattern(f)
	case "uniqueItems":
		if f.Value.Kind != source.Bool {
			b.wrongKind(f, "true or false")
		}
		sh.unique = sh.unique || f.Value.Text == "true"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		b.number(sh, f)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		b.size(sh, f)
	}
	sh.rules = append(sh.rules, *f)
	return false
}

func (b *Builder) wrongKind(f *source.Field, want string) {
	b.problems.Addf(diag.SchemaKind, f.Value.Pos, "", "%s must be %s, is %s", f.Name, want, f.Value.Kind)
}

func (b *Builder) unknown(f *source.Field) {
	b.problems.Addf(diag.SchemaUnknown, f.NamePos, diag.Suggest(f.Name, known()), "%q is no keyword of JSON Schema", f.Name)
}

// once keeps a keyword that may be in one schema of an allOf.
func (b *Builder) once(slot **source.Field, f *source.Field) {
	if *slot != nil && *slot != f {
		b.twice(f, *slot)
	}
	*slot = f
}

func (b *Builder) twice(f, first *source.Field) {
	b.problems.Add(diag.Problem{
		Code: diag.SchemaConflict, Pos: f.NamePos, Message: "two schemas of an allOf have " + f.Name, Fix: "keep one",
		Related: []diag.Related{{Pos: first.NamePos, Note: "the other one is here"}},
	})
}

func (b *Builder) properties(sh *shape, f *source.Field) {
	if f.Value.Kind != source.Map {
		b.wrongKind(f, "an object of schemas")
		return
	}
	for _, p := range f.Value.Fields {
		node := p.Value
		if node.Get("$ref") != nil {
			if node = b.set.Deref(node); node == nil {
				continue
			}
		}
		i := slices.IndexFunc(sh.props, func(q property) bool { return q.Name == p.Name })
		switch {
		case i < 0:
			sh.props = append(sh.props, property{p, node})
		case sh.props[i].node != node:
			b.problems.Add(diag.Problem{
				Code: diag.SchemaConflict, Pos: p.NamePos, Message: "two schemas of an allOf describe the member " + strconv.Quote(p.Name),
				Fix: "describe it once, or let both refer to one schema", Related: []diag.Related{{Pos: sh.props[i].NamePos, Note: "the other one is here"}},
			})
		}
	}
}

func (b *Builder) requiredNames(sh *shape, f *source.Field) {
	if f.Value.Kind != source.List {
		b.wrongKind(f, "a list of names")
		return
	}
	for _, item := range f.Value.Items {
		if item.Kind != source.String {
			b.problems.Addf(diag.SchemaKind, item.Pos, "", "required must hold names, has %s", item.Kind)
			continue
		}
		sh.required = append(sh.required, item)
	}
}

// number keeps the narrower of two bounds.
func (b *Builder) number(sh *shape, f *source.Field) {
	if f.Value.Kind != source.Int && f.Value.Kind != source.Float {
		fix := ""
		if f.Value.Kind == source.Bool {
			fix = "write the bound itself, such as " + f.Name + ": 0"
		}
		b.problems.Addf(diag.SchemaKind, f.Value.Pos, fix, "%s must be a number, is %s", f.Name, f.Value.Kind)
		return
	}
	v, ok := rational(f.Value.Text)
	if !ok {
		b.problems.Addf(diag.SchemaLimit, f.Value.Pos, "", "%s is out of any range", f.Name)
		return
	}
	if f.Name == "multipleOf" && v.Sign() <= 0 {
		b.problems.Addf(diag.SchemaLimit, f.Value.Pos, "", "multipleOf must be greater than 0")
		return
	}
	old, has := sh.numbers[f.Name]
	if has && f.Name == "multipleOf" && old.text != f.Value.Text {
		b.problems.Addf(diag.SchemaConflict, f.NamePos, "keep one", "two schemas of an allOf have multipleOf")
		return
	}
	if has {
		w, _ := rational(old.text)
		lower := strings.HasSuffix(strings.ToLower(f.Name), "minimum")
		if lower && w.Cmp(v) >= 0 || !lower && w.Cmp(v) <= 0 {
			return
		}
	}
	sh.numbers[f.Name] = bound{f.Value.Text, f.Value.Pos}
}

// rational reads a JSON number exactly; not one whose exponent would fill the
// memory.
func rational(text string) (*big.Rat, bool) {
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exponent); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

func (b *Builder) size(sh *shape, f *source.Field) {
	n, err := strconv.Atoi(f.Value.Text)
	if f.Value.Kind != source.Int || err != nil || n < 0 {
		b.problems.Addf(diag.SchemaKind, f.Value.Pos, "", "%s must be a whole number from 0", f.Name)
		return
	}
	old, has := sh.counts[f.Name]
	if has && (strings.HasPrefix(f.Name, "min") && old.n >= n || strings.HasPrefix(f.Name, "max") && old.n <= n) {
		return
	}
	sh.counts[f.Name] = count{n, f.Value.Pos}
}

// alien are constructs that Go's regular expressions take and JavaScript's do
// not, or that mean something else there.
var alien = regexp.MustCompile(`\\[AzQECaU]|\\x\{|\(\?[a-zA-Z-]*[:)]|\(\?P<|\[\[:`)

func (b *Builder) checkPattern(f *source.Field) {
	if f.Value.Kind != source.String {
		b.wrongKind(f, "a regular expression")
		return
	}
	if len(f.Value.Text) > 1000 {
		b.problems.Addf(diag.SchemaPattern, f.Value.Pos, "", "the pattern is longer than 1000 characters")
		return
	}
	if _, err := regexp.Compile(f.Value.Text); err != nil {
		b.problems.Addf(diag.SchemaPattern, f.Value.Pos, "lookaround and backreferences are not supported", "the pattern is not a regular expression of Go: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	for _, at := range alien.FindAllString(f.Value.Text, -1) {
		if at != "(?:" {
			b.problems.Addf(diag.SchemaPattern, f.Value.Pos, "write it in another way", "%s in a pattern means nothing, or something else, outside Go", at)
			return
		}
	}
}
