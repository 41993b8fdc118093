package schema

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// shape is what a schema says together with everything in its allOf.
type shape struct {
	node *source.Node

	// kinds are the JSON types that every part allows; typed says that one was
	// written, last at typePos.
	kinds   kinds
	typed   bool
	typePos diag.Pos

	description string
	parts       []members
	props       []property
	index       map[string]int // of props, by name
	required    []*source.Node
	extra       *source.Field // additionalProperties that restricts
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

// members is what one schema says about them.
type members struct {
	names map[string]bool
	extra *source.Field
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
	sh := &shape{node: n, kinds: anyKind, index: map[string]int{}, numbers: map[string]bound{}, counts: map[string]count{}}
	before := b.problems.Len()
	b.gather(sh, n, map[*source.Node]bool{})
	b.closing(sh)
	return sh, b.problems.Len() == before
}

// closing finds the additionalProperties of the whole. In an allOf they are about
// the members of the other schemas, too, which is hardly ever what is meant.
func (b *Builder) closing(sh *shape) {
	for _, part := range sh.parts {
		if part.extra == nil || isBool(part.extra.Value, "true") {
			continue
		}
		for _, p := range sh.props {
			if !part.names[p.Name] {
				b.problems.Add(diag.Problem{
					Code: diag.SchemaConflict, Pos: part.extra.NamePos, Fix: "declare all members in one schema, or leave it out",
					Message: "additionalProperties within allOf is about the member " + strconv.Quote(p.Name) + " of another schema, too",
					Related: []diag.Related{{Pos: p.NamePos, Note: "the member"}},
				})
				break
			}
		}
		switch {
		case sh.extra == nil || isBool(part.extra.Value, "false"):
			sh.extra = part.extra
		case !isBool(sh.extra.Value, "false"):
			b.twice(part.extra, sh.extra)
		}
	}
	if sh.extra != nil {
		return
	}
	for _, part := range sh.parts { // true, which is not the same as silence
		if part.extra != nil {
			sh.extra = part.extra
		}
	}
}

func isBool(n *source.Node, text string) bool { return n.Kind == source.Bool && n.Text == text }

// gather adds what one schema says. One that is there already adds nothing.
func (b *Builder) gather(sh *shape, n *source.Node, state map[*source.Node]bool) {
	if open, seen := state[n]; open {
		b.problems.Addf(diag.RefLoop, n.Pos, "", "allOf leads back to itself")
		return
	} else if seen {
		return
	}
	state[n] = true
	defer func() { state[n] = false }()
	if n.Kind != source.Map {
		b.problems.Addf(diag.SchemaKind, n.Pos, "", "a schema must be an object, is %s", n.Kind)
		return
	}
	var own members
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
		case f.Name == "allOf", f.Name == "nullable":
		case f.Name == "type":
			b.typesOf(sh, f, n.Field("nullable"))
		case f.Name == "properties":
			own.names = b.properties(sh, f)
		case f.Name == "additionalProperties":
			own.extra = f
			sh.rules = append(sh.rules, *f)
		default:
			b.keyword(sh, f)
		}
	}
	sh.parts = append(sh.parts, own)
	if f := n.Field("nullable"); f != nil {
		switch {
		case f.Value.Kind != source.Bool:
			b.wrongKind(f, "true or false")
		case f.Value.Text == "true" && n.Get("type") == nil:
			b.problems.Addf(diag.SchemaType, f.NamePos, "write oneOf: [{…}, {type: 'null'}]", "nullable has no meaning without type beside it")
		}
	}
	if f := n.Field("allOf"); f != nil {
		b.gatherAll(sh, f, state)
	}
}

func (b *Builder) gatherAll(sh *shape, f *source.Field, state map[*source.Node]bool) {
	if f.Value.Kind != source.List || len(f.Value.Items) == 0 {
		b.wrongKind(f, "a list of schemas")
		return
	}
	for _, item := range f.Value.Items {
		if part := b.target(item); part != nil {
			b.gather(sh, part, state)
		}
	}
}

// typesOf narrows the types that are possible.
func (b *Builder) typesOf(sh *shape, f, nullable *source.Field) {
	items := []*source.Node{f.Value}
	if f.Value.Kind == source.List {
		items = f.Value.Items
	}
	var own kinds
	for _, item := range items {
		name := item.Text
		if item.Kind == source.Null {
			name = "null"
		} else if item.Kind != source.String {
			b.wrongKind(f, "the name of a type, or a list of them")
			return
		}
		k, ok := kindsByName[name]
		if !ok {
			b.problems.Addf(diag.SchemaType, item.Pos, diag.Suggest(name, typeNames()), "%q is not a type", name)
			return
		}
		own |= k
	}
	if nullable != nil && isBool(nullable.Value, "true") {
		own |= nullKind
	}
	if sh.typed && sh.kinds&own == 0 {
		b.problems.Add(diag.Problem{
			Code: diag.SchemaConflict, Pos: f.Value.Pos, Message: "no value has both types that allOf asks for", Fix: "make them agree",
			Related: []diag.Related{{Pos: sh.typePos, Note: "the other type is here"}},
		})
	}
	sh.kinds &= own
	sh.typed, sh.typePos = true, f.Value.Pos
}

// keyword notes a supported keyword that ties a schema to a type.
func (b *Builder) keyword(sh *shape, f *source.Field) {
	switch f.Name {
	case "required":
		b.requiredNames(sh, f)
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
			return
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

// properties adds those of one schema and returns their names.
func (b *Builder) properties(sh *shape, f *source.Field) map[string]bool {
	if f.Value.Kind != source.Map {
		b.wrongKind(f, "an object of schemas")
		return nil
	}
	names := make(map[string]bool, len(f.Value.Fields))
	sh.rules = append(sh.rules, *f)
	for _, p := range f.Value.Fields {
		names[p.Name] = true
		node := p.Value
		if node.Get("$ref") != nil {
			if node = b.set.Deref(node); node == nil {
				continue
			}
		}
		switch i, ok := sh.index[p.Name]; {
		case !ok:
			sh.index[p.Name] = len(sh.props)
			sh.props = append(sh.props, property{p, node})
		case sh.props[i].node != node:
			b.problems.Add(diag.Problem{
				Code: diag.SchemaConflict, Pos: p.NamePos, Message: "two schemas of an allOf describe the member " + strconv.Quote(p.Name),
				Fix: "describe it once, or let both refer to one schema", Related: []diag.Related{{Pos: sh.props[i].NamePos, Note: "the other one is here"}},
			})
		}
	}
	return names
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
// memory, or that no float64 comes near.
func rational(text string) (*big.Rat, bool) {
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exponent); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	v, ok := new(big.Rat).SetString(text)
	if ok {
		f, _ := v.Float64()
		ok = !math.IsInf(f, 0)
	}
	return v, ok
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
