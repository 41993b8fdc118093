package schema

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
	"github.com/idem-go/idem/gen/internal/source"
)

// build makes the type of a shape.
func (b *Builder) build(sh *shape, at place) made {
	if sh.oneOf != nil {
		return b.union(sh, at)
	}
	if sh.disc != nil {
		b.problems.Addf(diag.SchemaUnion, sh.disc.NamePos, "add oneOf, or remove it", "discriminator without oneOf has no meaning")
		return made{}
	}
	kind, nullable, ok := b.kind(sh)
	if !ok {
		return made{}
	}
	t := b.start(sh.node, at, kind)
	t.Description = sh.description
	before := b.problems.Len()
	b.misplaced(sh, kind)
	switch kind {
	case model.Object, model.MapOf:
		b.object(t, sh, at)
	case model.Array:
		b.array(t, sh, at)
	case model.String:
		b.text(t, sh)
	case model.Int, model.Float:
		b.numeric(t, sh)
	}
	if kind != model.Object && kind != model.MapOf && kind != model.Array {
		b.constant(t, sh, at)
	} else if f := cmpOr(sh.enum, sh.cnst); f != nil {
		b.problems.Addf(diag.SchemaEnum, f.NamePos, "describe its members", "%s of objects and lists is not supported", f.Name)
	}
	return made{t: t, nullable: nullable, ok: b.problems.Len() == before}
}

func cmpOr(a, b *source.Field) *source.Field {
	if a != nil {
		return a
	}
	return b
}

// kind finds the one type that a value can have, and whether it may be null.
func (b *Builder) kind(sh *shape) (kind model.Kind, nullable, ok bool) {
	types, at := sh.kinds, sh.typePos
	values := cmpOr(sh.cnst, sh.enum)
	allowed := valueKinds(values)
	switch {
	case sh.typed && values != nil && types&nullKind != 0 && allowed&nullKind == 0 && allowed != 0:
		b.problems.Addf(diag.SchemaEnum, values.NamePos, "let both allow it, or none", "the type allows null, which %s does not", values.Name)
		return 0, false, false
	case sh.typed:
	case values != nil:
		if types, at = allowed, values.NamePos; types == 0 {
			types = stringKind // what is wrong with the values is reported with them
		}
	case len(sh.rules) > 0:
		f := sh.rules[0]
		b.problems.Addf(diag.SchemaType, f.NamePos, "add type", "%s needs a type beside it: without one it lets values of other types pass", f.Name)
		return 0, false, false
	default:
		return model.Raw, false, true
	}
	kind, one := types.single()
	switch {
	case types == nullKind:
		b.problems.Addf(diag.SchemaType, at, "remove the member", "null alone is no type")
		return 0, false, false
	case !one:
		b.problems.Addf(diag.SchemaType, at, "use oneOf with a schema for each", "a value of several types is not supported: %s", types)
		return 0, false, false
	}
	if kind == model.Object && len(sh.props) == 0 && (sh.extra == nil || !isBool(sh.extra.Value, "false")) {
		kind = model.MapOf
	}
	return kind, types&nullKind != 0, true
}

// valueKinds are the JSON types of a const, or of the values of an enum.
func valueKinds(f *source.Field) kinds {
	if f == nil {
		return 0
	}
	items := []*source.Node{f.Value}
	if f.Name == "enum" {
		items = f.Value.Items
	}
	var k kinds
	for _, item := range items {
		k |= map[source.Kind]kinds{
			source.Null: nullKind, source.Bool: boolKind, source.Int: integerKind, source.Float: numberKind,
			source.String: stringKind, source.List: arrayKind, source.Map: objectKind,
		}[item.Kind]
	}
	return k
}

// misplaced reports keywords that say nothing about values of the kind.
func (b *Builder) misplaced(sh *shape, kind model.Kind) {
	for _, f := range sh.rules {
		k := keywords()[f.Name]
		if len(k.kinds) > 0 && !slices.Contains(k.kinds, kind) {
			b.problems.Addf(diag.SchemaMisplaced, f.NamePos, "remove it, or mend the type", "%s says nothing about %s", f.Name, kindName(kind))
		}
	}
	for _, pair := range [][2]string{{"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"}} {
		low, hasLow := sh.counts[pair[0]]
		high, hasHigh := sh.counts[pair[1]]
		if hasLow && hasHigh && low.n > high.n {
			b.contradiction(low.pos, high.pos, pair[0]+" is greater than "+pair[1])
		}
	}
}

func (b *Builder) contradiction(at, other diag.Pos, message string) {
	b.problems.Add(diag.Problem{Code: diag.SchemaLimit, Pos: at, Message: message, Fix: "no value fits both", Related: []diag.Related{{Pos: other, Note: "the other one is here"}}})
}

func kindName(k model.Kind) string {
	return [...]string{"any value", "a boolean", "an integer", "a number", "a string", "an object", "an object", "a list", "one of several"}[k]
}

func (b *Builder) limits(sh *shape, low, high string) (least, most *int) {
	if c, ok := sh.counts[low]; ok && c.n > 0 {
		least = &c.n
	}
	if c, ok := sh.counts[high]; ok {
		most = &c.n
	}
	return least, most
}

func (b *Builder) text(t *model.Type, sh *shape) {
	t.MinLength, t.MaxLength = b.limits(sh, "minLength", "maxLength")
	if sh.pattern != nil && sh.pattern.Value.Kind == source.String {
		t.Pattern = sh.pattern.Value.Text
	}
	if sh.format == nil {
		return
	}
	switch f := sh.format.Value.Text; {
	case slices.Contains(formats(), f):
		t.Format = f
	default:
		b.problems.Addf(diag.FormatUnknown, sh.format.Value.Pos, diag.Suggest(f, formats()), "format %q is not supported", f)
	}
}

func formats() []string { return []string{"date", "date-time", "email", "time", "uri", "uuid"} }

// machine are the formats of numbers, which say how a program may hold them and
// restrict nothing.
func machine() []string { return []string{"double", "float", "int32", "int64"} }

func (b *Builder) numeric(t *model.Type, sh *shape) {
	if sh.format != nil && !slices.Contains(machine(), sh.format.Value.Text) {
		b.problems.Addf(diag.FormatUnknown, sh.format.Value.Pos, diag.Suggest(sh.format.Value.Text, machine()), "format %q is not supported for numbers", sh.format.Value.Text)
	}
	t.Minimum, t.Maximum = sh.numbers["minimum"].text, sh.numbers["maximum"].text
	t.ExclusiveMinimum, t.ExclusiveMaximum = sh.numbers["exclusiveMinimum"].text, sh.numbers["exclusiveMaximum"].text
	t.MultipleOf = sh.numbers["multipleOf"].text
	if t.Kind == model.Int {
		b.integer(t, sh)
		return
	}
	low, high := tighter(sh, "minimum", "exclusiveMinimum", 1), tighter(sh, "maximum", "exclusiveMaximum", -1)
	if low == nil || high == nil {
		return
	}
	if c := low.value.Cmp(high.value); c > 0 || c == 0 && (low.exclusive || high.exclusive) {
		b.contradiction(low.pos, high.pos, "no number is between the bounds")
	}
}

// integer finds out which integers are meant, and how many bits they need.
func (b *Builder) integer(t *model.Type, sh *shape) {
	least, most := new(big.Int).SetInt64(math.MinInt64), new(big.Int).SetInt64(math.MaxInt64)
	low, high := tighter(sh, "minimum", "exclusiveMinimum", 1), tighter(sh, "maximum", "exclusiveMaximum", -1)
	var from, to *big.Int
	if low != nil {
		from = low.whole(1)
	}
	if high != nil {
		to = high.whole(-1)
	}
	switch {
	case from != nil && to != nil && from.Cmp(to) > 0:
		b.contradiction(low.pos, high.pos, "no integer is between the bounds")
		return
	case from != nil && from.Sign() >= 0 && to != nil && to.Cmp(most) > 0:
		t.Unsigned = true
		least, most = new(big.Int), new(big.Int).SetUint64(math.MaxUint64)
	}
	for _, limit := range []struct {
		n *big.Int
		e *edge
	}{{from, low}, {to, high}} {
		if limit.n != nil && (limit.n.Cmp(least) < 0 || limit.n.Cmp(most) > 0) {
			b.problems.Addf(diag.SchemaLimit, limit.e.pos, "integers have 64 bits; use a string with a pattern for longer ones", "the bound is beyond what an integer can hold")
		}
	}
}

// edge is the tighter of an inclusive and an exclusive bound.
type edge struct {
	value     *big.Rat
	exclusive bool
	pos       diag.Pos
}

// whole is the first integer within the bound, upwards if sign is 1.
func (e *edge) whole(sign int64) *big.Int {
	q, r := new(big.Int).DivMod(e.value.Num(), e.value.Denom(), new(big.Int)) // rounded down
	switch {
	case r.Sign() == 0 && e.exclusive:
		q.Add(q, big.NewInt(sign))
	case r.Sign() != 0 && sign > 0:
		q.Add(q, big.NewInt(1))
	}
	return q
}

func tighter(sh *shape, inclusive, exclusive string, sign int) *edge {
	var out *edge
	for _, name := range []string{inclusive, exclusive} {
		if bd, ok := sh.numbers[name]; ok {
			v, _ := rational(bd.text)
			if out == nil || v.Cmp(out.value)*sign >= 0 {
				out = &edge{v, name == exclusive, bd.pos}
			}
		}
	}
	return out
}

// constant adds enum and const.
func (b *Builder) constant(t *model.Type, sh *shape, at place) {
	if sh.cnst != nil {
		if b.fits(t.Kind, sh.cnst.Value) {
			t.Const = literal(sh.cnst.Value)
		} else if v := sh.cnst.Value; t.Kind == model.Float && (v.Kind == source.Int || v.Kind == source.Float) {
			b.problems.Addf(diag.SchemaLimit, v.Pos, "", "const is out of any range")
		} else {
			b.problems.Addf(diag.SchemaEnum, sh.cnst.Value.Pos, "", "const is %s where the type is %s", sh.cnst.Value.Kind, kindName(t.Kind))
		}
	}
	if sh.enum == nil {
		return
	}
	list := sh.enum.Value
	if list.Kind != source.List || len(list.Items) == 0 {
		b.wrongKind(sh.enum, "a list of values")
		return
	}
	for _, f := range sh.rules {
		if f.Name != "enum" && f.Name != "format" || f.Name == "format" && t.Kind == model.String {
			b.problems.Addf(diag.SchemaEnum, f.NamePos, "remove it: enum says already which values there are", "%s beside enum is not supported", f.Name)
			return
		}
	}
	values := slices.DeleteFunc(slices.Clone(list.Items), func(n *source.Node) bool { return n.Kind == source.Null })
	if len(values) > 1 && t.Kind != model.String && t.Kind != model.Int {
		b.problems.Addf(diag.SchemaEnum, sh.enum.NamePos, "", "enum of %s is not supported: use strings or integers", strings.TrimPrefix(kindName(t.Kind), "a "))
		return
	}
	seen := map[string]diag.Pos{}
	consts := map[string]int{}
	for _, item := range list.Items {
		if item.Kind == source.Null {
			if sh.typed && sh.kinds&nullKind == 0 {
				b.problems.Addf(diag.SchemaEnum, item.Pos, "add null to the type, or remove it", "enum has null, which the type does not allow")
			}
			continue
		}
		if !b.fits(t.Kind, item) {
			b.problems.Addf(diag.SchemaEnum, item.Pos, "", "a value of enum is %s where the type is %s", item.Kind, kindName(t.Kind))
			continue
		}
		if first, ok := seen[item.Text]; ok {
			b.problems.Add(diag.Problem{Code: diag.SchemaEnum, Pos: item.Pos, Message: "enum has the same value twice", Fix: "remove one", Related: []diag.Related{{Pos: first, Note: "first here"}}})
			continue
		}
		seen[item.Text] = item.Pos
		text := item.Text
		if t.Kind == model.Int {
			text = strings.Replace(text, "-", "minus ", 1)
		}
		base := at.name + names.Go(text)
		name := base
		for consts[name] > 0 { // values that differ in what an identifier cannot say
			consts[base]++
			name = base + strconv.Itoa(consts[base])
		}
		consts[name]++
		t.Enum = append(t.Enum, model.EnumValue{Value: item.Text, GoName: name})
	}
	switch {
	case len(t.Enum) == 1 && (!b.opt.AcceptUnknownEnum || t.Kind != model.String && t.Kind != model.Int): // one value is a constant
		t.Const, t.Enum = literal(values[0]), nil
	case len(t.Enum) > 0:
		t.OpenEnum = b.opt.AcceptUnknownEnum
		b.declare(t, at.name)
		for _, v := range t.Enum {
			b.scope.Claim(v.GoName, "the value "+strconv.Quote(v.Value)+" of the enum at "+t.Source, seen[v.Value])
		}
	default:
		b.problems.Addf(diag.SchemaEnum, sh.enum.NamePos, "", "enum has no value but null")
	}
}

func (b *Builder) fits(kind model.Kind, n *source.Node) bool {
	switch kind {
	case model.String:
		return n.Kind == source.String
	case model.Bool:
		return n.Kind == source.Bool
	case model.Float:
		_, ok := rational(n.Text)
		return ok && (n.Kind == source.Int || n.Kind == source.Float)
	case model.Int:
		_, err := strconv.ParseInt(n.Text, 10, 64)
		return n.Kind == source.Int && err == nil
	default:
		return false
	}
}

// literal is a scalar as JSON.
func literal(n *source.Node) string {
	if n.Kind == source.String {
		return quoteJSON(n.Text)
	}
	return n.Text
}
