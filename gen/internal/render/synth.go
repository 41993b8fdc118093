package render

import (
	"fmt"
	"math/big"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/model"
)

// synthesise makes a small value of a type: what is required and no more. The
// hint becomes the text of strings that may be anything. It returns nil if it
// finds none.
func synthesise(t *model.Type, hint string) *value { return synth(t, hint, 0) }

// maxDepth ends types that contain themselves, maxValues lists of long lists
// and large objects of large objects: a sample is for people.
const (
	maxDepth  = 12
	maxValues = 10_000
)

func synth(t *model.Type, hint string, depth int) *value {
	if depth > maxDepth {
		return nil
	}
	if t.Const != "" {
		return parse([]byte(t.Const))
	}
	switch t.Kind {
	case model.Raw:
		return &value{kind: jsonObject}
	case model.Bool:
		return boolean(true)
	case model.Int, model.Float:
		return synthNumber(t)
	case model.String:
		return synthString(t, hint)
	case model.Array:
		return synthArray(t, hint, depth)
	case model.MapOf:
		v := &value{kind: jsonObject}
		return fill(v, t, t.Elem, t.ElemNullable, depth)
	case model.Object:
		return synthObject(t, depth)
	case model.Union:
		for _, variant := range t.Variants {
			if v := synth(variant.Type, hint, depth+1); v != nil && conforms(t, v) {
				return v
			}
		}
	}
	return nil
}

func synthOrNull(t *model.Type, nullable bool, hint string, depth int) *value {
	v := synth(t, hint, depth)
	if v == nil && nullable {
		return &value{}
	}
	return v
}

func synthArray(t *model.Type, hint string, depth int) *value {
	v := &value{kind: jsonArray}
	if t.MinItems == nil {
		return v
	}
	for i := range min(*t.MinItems, 1000) {
		item := synthOrNull(t.Elem, t.ElemNullable, hint, depth+1)
		if item == nil || i == 0 && tooLong(*t.MinItems, item) {
			return nil
		}
		if t.UniqueItems && i > 0 {
			if item = nth(t.Elem, item, i); item == nil {
				return nil
			}
		}
		v.items = append(v.items, item)
	}
	return v
}

// nth returns the n-th of different values of a type that begin with first, or nil.
func nth(t *model.Type, first *value, n int) *value {
	if len(t.Enum) > 0 {
		if n >= len(t.Enum) {
			return nil
		}
		if t.Kind == model.String {
			return text(t.Enum[n].Value)
		}
		return number(t.Enum[n].Value)
	}
	s, ok := vary(t, first)
	if !ok {
		return nil
	}
	return s.value(n)
}

func synthObject(t *model.Type, depth int) *value {
	v, size := &value{kind: jsonObject}, 0
	for _, f := range t.Fields {
		if !f.Required {
			continue
		}
		m := synthOrNull(f.Type, f.Nullable, f.Name, depth+1)
		if m == nil {
			return nil
		}
		if size += m.size(); size > maxValues {
			return nil
		}
		v.set(f.Name, m)
	}
	for _, f := range t.Fields { // optional ones, for as long as there must be more
		if t.MinItems == nil || len(v.members) >= *t.MinItems {
			break
		}
		if v.member(f.Name) == nil {
			if m := synthOrNull(f.Type, f.Nullable, f.Name, depth+1); m != nil {
				v.set(f.Name, m)
			}
		}
	}
	extra := t.Extra
	if extra == nil {
		extra = &model.Type{Kind: model.Bool}
	}
	if t.Closed {
		return v
	}
	return fill(v, t, extra, t.ExtraNullable, depth)
}

// fill adds members until there are as many as there must be.
func fill(v *value, t, elem *model.Type, nullable bool, depth int) *value {
	for i := 1; t.MinItems != nil && len(v.members) < min(*t.MinItems, 1000); i++ {
		name := fmt.Sprintf("name%d", i)
		if v.member(name) != nil || fieldOf(t, name) != nil {
			continue
		}
		m := synthOrNull(elem, nullable, name, depth+1)
		if m == nil || i == 1 && tooLong(*t.MinItems, m) {
			return nil
		}
		v.set(name, m)
	}
	return v
}

// tooLong reports whether n items like this one are more than a sample has.
func tooLong(n int, item *value) bool { return min(n, maxValues+1)*item.size() > maxValues }

func synthNumber(t *model.Type) *value {
	if len(t.Enum) > 0 {
		return number(t.Enum[0].Value)
	}
	candidates := []*big.Rat{big.NewRat(1, 1), new(big.Rat), big.NewRat(-1, 1)}
	step := big.NewRat(1, 1)
	if t.MultipleOf != "" && rat(t.MultipleOf).Sign() > 0 {
		step = rat(t.MultipleOf)
		candidates = append(candidates, step)
	}
	if low, high := first(t.Minimum, t.ExclusiveMinimum), first(t.Maximum, t.ExclusiveMaximum); t.Kind == model.Float && low != "" && high != "" {
		middle := new(big.Rat).Add(rat(low), rat(high))
		candidates = append(candidates, middle.Quo(middle, big.NewRat(2, 1)))
	}
	for _, bound := range []string{t.Minimum, t.ExclusiveMinimum, t.Maximum, t.ExclusiveMaximum} {
		if bound == "" {
			continue
		}
		b := rat(bound)
		q := new(big.Rat).Quo(b, step)
		floor := new(big.Int).Div(q.Num(), q.Denom()) // rounds down, since the divisor is positive
		for d := int64(-1); d <= 2; d++ {
			k := new(big.Int).Add(floor, big.NewInt(d))
			candidates = append(candidates, new(big.Rat).Mul(new(big.Rat).SetInt(k), step))
		}
		candidates = append(candidates, b)
	}
	for _, c := range candidates {
		if v := number(decimal(c)); conforms(t, v) {
			return v
		}
	}
	return nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(12), "0")
}

func synthString(t *model.Type, hint string) *value {
	if len(t.Enum) > 0 {
		return text(t.Enum[0].Value)
	}
	for _, s := range stringCandidates(t, hint) {
		if stringConforms(t, s) {
			return text(s)
		}
	}
	return nil
}

func stringCandidates(t *model.Type, hint string) []string {
	switch t.Format {
	case "date-time":
		return []string{"2026-01-02T15:04:05Z"}
	case "date":
		return []string{"2026-01-02"}
	case "time":
		return []string{"15:04:05Z"}
	case "uuid":
		return []string{"018f0000-0000-7000-8000-000000000000"}
	}
	base := []string{hint, "text"}
	switch t.Format {
	case "email":
		base = []string{"someone@example.com", "a@b.co"}
	case "uri":
		base = []string{"https://example.com/1", "a:b"}
	}
	if t.Pattern != "" {
		base = append(base, fromPattern(t.Pattern)...)
	}
	out := base
	for _, s := range base {
		if n := utf8.RuneCountInString(s); t.MinLength != nil && n < *t.MinLength {
			pad := strings.Repeat("0", min(*t.MinLength-n, 1<<16))
			if t.Format == "email" {
				pad = strings.ReplaceAll(pad, "0", "a")
				out = append(out, pad+s)
			}
			out = append(out, s+pad)
		}
		if r := []rune(s); t.MaxLength != nil && len(r) > *t.MaxLength {
			out = append(out, string(r[:*t.MaxLength]))
		}
	}
	return out
}

// fromPattern returns texts that a pattern probably matches, the shortest first.
func fromPattern(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var out []string
	for _, more := range []int{0, 1, 2, 3, 5, 8, 13, 21, 34, 55} {
		var b strings.Builder
		match(&b, re, more)
		out = append(out, b.String())
		if b.Len() > 1<<12 {
			break
		}
	}
	return out
}

// match writes a text that re matches, with so many repetitions more than must be.
func match(b *strings.Builder, re *syntax.Regexp, more int) {
	if b.Len() > 1<<12 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(fromClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('0')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			match(b, sub, more)
		}
	case syntax.OpAlternate:
		match(b, re.Sub[0], more)
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		n := more
		switch re.Op {
		case syntax.OpPlus:
			n++
		case syntax.OpRepeat:
			n += re.Min
			if re.Max >= 0 {
				n = min(n, re.Max)
			}
		}
		for range n {
			match(b, re.Sub[0], more)
		}
	}
}

// fromClass prefers what can count: a digit, then a letter.
func fromClass(ranges []rune) rune {
	for _, want := range "0aA" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	if len(ranges) == 0 {
		return '0'
	}
	for i := 0; i+1 < len(ranges); i += 2 { // something that can be seen
		if r := max(ranges[i], '!'); r <= ranges[i+1] {
			return r
		}
	}
	return ranges[0]
}
