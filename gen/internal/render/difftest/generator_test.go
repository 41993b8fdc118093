package difftest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// generator writes random JSON that mostly fits a type, in every way that JSON
// has to write it.
type generator struct {
	*rand.Rand
	strings.Builder
	// wild is how often of 1000 something else is written, full how often of
	// 100 an optional member is there; below 0 it is just one of them, so that
	// no other hides what becomes of it.
	wild, full int
}

func generate(t *model.Type, seed uint64) string {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // the same every time
	g.wild, g.full = []int{0, 0, 5, 20, 100}[g.IntN(5)], []int{-1, -1, -1, 10, 20, 50, 100}[g.IntN(7)]
	g.value(t, false, 0)
	return g.String()
}

func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) space() {
	if g.oneIn(30) {
		g.WriteString(pick(g, " ", "\n", "\t", "\r"))
	}
}

func (g *generator) value(t *model.Type, nullable bool, depth int) {
	g.space()
	defer g.space()
	switch {
	case g.IntN(1000) < g.wild || t.Kind == model.Raw:
		g.anything(depth)
		return
	case nullable && g.oneIn(4):
		g.WriteString("null")
		return
	case t.Const != "" && !g.oneIn(20):
		g.constant(t.Const)
		return
	}
	switch t.Kind {
	case model.Bool:
		g.WriteString(pick(g, "true", "false"))
	case model.Int:
		g.integer(t)
	case model.Float:
		g.number(t)
	case model.String:
		g.text(g.textOf(t))
	case model.Array:
		g.array(t, depth)
	case model.MapOf:
		g.object(nil, t.Elem, t.ElemNullable, t, depth)
	case model.Object:
		g.object(t.Fields, t.Extra, t.ExtraNullable, t, depth)
	case model.Union:
		g.value(pick(g, t.Variants...).Type, false, depth)
	}
}

func (g *generator) constant(c string) {
	var s string
	switch {
	case json.Unmarshal([]byte(c), &s) == nil:
		g.text(s)
	case c == "true" || c == "false":
		g.WriteString(c)
	default:
		r, _ := new(big.Rat).SetString(c)
		g.decimal(r)
	}
}

func (g *generator) anything(depth int) {
	if depth > 5 {
		g.WriteString("0")
		return
	}
	switch g.IntN(9) {
	case 0:
		g.WriteString("null")
	case 1:
		g.WriteString(pick(g, "true", "false"))
	case 2, 3:
		g.integer(&model.Type{Kind: model.Int})
	case 4:
		g.number(&model.Type{Kind: model.Float})
	case 5, 6:
		g.text(g.textOf(&model.Type{Kind: model.String}))
	case 7:
		g.array(&model.Type{Kind: model.Array, Elem: &model.Type{}}, depth)
	case 8:
		g.object(nil, &model.Type{}, false, &model.Type{}, depth)
	}
}

// text writes a string, with escapes that need not be.
func (g *generator) text(s string) {
	plain := g.oneIn(2)
	g.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			g.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(g, `\u%04x`, r)
		case plain || !g.oneIn(5):
			g.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(g, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(g, `\u%04X`, r)
		}
	}
	if g.oneIn(200) {
		g.WriteString(pick(g, `\ud83d`, "\xff", `\ude00`, `\/`, `\b`, "\xe2\x80"))
	}
	g.WriteByte('"')
}

var formatTexts = map[string][]string{
	"date-time": {"2026-01-31T15:04:05Z", "2026-01-31t15:04:05.5+01:30", "2016-12-31T23:59:60Z", "2026-02-29T00:00:00Z", "2026-01-31"},
	"date":      {"2026-01-31", "2024-02-29", "2026-02-29", "2026-1-1"},
	"time":      {"15:04:05Z", "15:04:05.123-03:00", "15:04:05", "24:00:00Z"},
	"uuid":      {"018f0000-0000-7000-8000-000000000000", "018F0000-0000-7000-8000-00000000000A", "018f0000"},
	"email":     {"a@b.co", "x@y", "@b.c", "a"},
	"uri":       {"a:bcd", "https://example.com/1", "a:b", "/a", "http://[::1]/"},
}

func (g *generator) textOf(t *model.Type) string {
	if len(t.Enum) > 0 && !g.oneIn(20) {
		return pick(g, t.Enum...).Value
	}
	if t.Format != "" {
		list := formatTexts[t.Format]
		if !g.oneIn(5) {
			list = list[:2]
		}
		return pick(g, list...)
	}
	if t.Pattern != "" && !g.oneIn(10) {
		list := []string{"AB12", "AB1", "aab", "ab", "", "~", "A-1", "`\"\\"}
		if !g.oneIn(10) {
			list = slices.DeleteFunc(list, func(s string) bool { return !regexp.MustCompile(t.Pattern).MatchString(s) })
		}
		return pick(g, list...)
	}
	low, high := 0, 4
	if t.MinLength != nil {
		low, high = *t.MinLength, *t.MinLength+2
	}
	if t.MaxLength != nil {
		high = *t.MaxLength
	}
	n := low + g.IntN(max(1, high-low+1))
	if g.oneIn(20) {
		n = max(0, n+g.IntN(3)-1)
	}
	var b strings.Builder
	for range n {
		b.WriteRune(pick(g, 'a', 'b', 'z', 'A', '1', 'é', '値', '😀', '"', '\\', '\n', '<', '\u2028'))
	}
	return b.String()
}

var decimals = []string{
	"0", "1", "-1", "2", "3", "10", "100", "0.1", "0.2", "0.3", "-0.5", "0.5", "0.01", "0.07", "1.15", "4.35", "1e-10", "3e-10", "1e300", "-1e300", "0.6", "1.5",
	"0.12345678901234568", "0.12345678901234567", "0.9876543210987654", "0.9876543210987655", "9007199254740993", "-9007199254740993", "9223372036854775807",
	"-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616", "123456789012345680000", "1e18", "33", "0.25", "5e-324",
}

func (g *generator) number(t *model.Type) {
	list := decimals
	for _, bound := range []string{t.Minimum, t.Maximum, t.ExclusiveMinimum, t.ExclusiveMaximum, t.MultipleOf} {
		if bound != "" && g.oneIn(3) {
			list = []string{bound}
		}
	}
	r, _ := new(big.Rat).SetString(pick(g, list...))
	switch {
	case g.oneIn(6):
		r.Mul(r, big.NewRat(int64(g.IntN(20)-5), 1))
	case g.oneIn(6):
		r.Add(r, big.NewRat(int64(g.IntN(3)-1), 100))
	}
	g.decimal(r)
}

func (g *generator) integer(t *model.Type) {
	if len(t.Enum) > 0 && !g.oneIn(20) {
		r, _ := new(big.Rat).SetString(pick(g, t.Enum...).Value)
		g.decimal(r)
		return
	}
	list := []string{"0", "1", "2", "3", "6", "10", "100", "300", "-1", "-7"}
	if g.oneIn(4) {
		list = decimals
	}
	for _, bound := range []string{t.Minimum, t.Maximum, t.ExclusiveMinimum, t.ExclusiveMaximum, t.MultipleOf} {
		if bound != "" && g.oneIn(3) {
			list = []string{bound}
		}
	}
	r, _ := new(big.Rat).SetString(pick(g, list...))
	if !r.IsInt() && g.oneIn(2) { // next to a bound
		r.SetInt(new(big.Int).Quo(r.Num(), r.Denom()))
	}
	switch {
	case g.oneIn(5):
		r.Add(r, big.NewRat(int64(g.IntN(3)-1), 1))
	case g.oneIn(5):
		r.Mul(r, big.NewRat(int64(g.IntN(5)), 1))
	}
	g.decimal(r)
}

// decimal writes a number in one of its forms.
func (g *generator) decimal(r *big.Rat) {
	s := r.RatString()
	if !r.IsInt() {
		s = strings.TrimRight(r.FloatString(330), "0")
		if len(s) > 40 {
			f, _ := r.Float64()
			s = strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	simple := !strings.ContainsAny(s, ".e")
	switch g.IntN(12) {
	case 0:
		if simple {
			s += pick(g, ".0", ".00", "e0", "E+0", "e-0", ".0e0")
		}
	case 1:
		if simple {
			n := 1 + g.IntN(3)
			s += strings.Repeat("0", n) + "e-" + strconv.Itoa(n)
		}
	case 2:
		if simple && strings.HasSuffix(s, "00") && len(s) > 3 {
			s = s[:len(s)-2] + "e2"
		}
	case 3:
		if s == "0" {
			s = pick(g, "-0", "-0.0", "0e5")
		}
	}
	g.WriteString(s)
}

func (g *generator) array(t *model.Type, depth int) {
	low, high := 0, 3
	if t.MinItems != nil {
		low, high = *t.MinItems, *t.MinItems+2
	}
	if t.MaxItems != nil {
		high = *t.MaxItems
	}
	n := low + g.IntN(max(1, high-low+1))
	if g.oneIn(20) {
		n = max(0, n+g.IntN(3)-1)
	}
	if depth > 5 {
		n = low
	}
	if g.oneIn(100) && depth < 3 {
		n = 25
	}
	g.WriteByte('[')
	before := ""
	for i := range n {
		if i > 0 {
			g.WriteByte(',')
		}
		from := g.Len()
		if before != "" && g.oneIn(15) {
			if g.oneIn(2) && strings.HasSuffix(before, "}") && len(before) > 2 { // but for a member that may be ignored
				before = before[:len(before)-1] + `,"k":` + strconv.Itoa(i) + "}"
			}
			g.WriteString(before) // equal elements
		} else {
			g.value(t.Elem, t.ElemNullable, depth+1)
		}
		before = g.String()[from:]
	}
	g.WriteByte(']')
}

func (g *generator) object(fields []*model.Field, extra *model.Type, nullable bool, t *model.Type, depth int) {
	type member struct {
		name     string
		typ      *model.Type
		nullable bool
	}
	var list []member
	only := 0
	if g.full < 0 && len(fields) > 0 {
		only = g.IntN(len(fields))
	}
	for i, f := range fields {
		if f.Required && g.oneIn(100) || !f.Required && (g.IntN(100) >= g.full && (g.full >= 0 || i != only) || depth > 5) {
			continue
		}
		list = append(list, member{f.Name, f.Type, f.Nullable})
		if g.oneIn(40) { // an earlier one, which must not count
			list = append([]member{{f.Name, pick(g, f.Type, &model.Type{}), g.oneIn(2)}}, list...)
		}
	}
	n := 0
	switch {
	case depth > 5:
	case extra != nil:
		n = g.IntN(3)
	case g.oneIn(8):
		n = 1
	}
	if t.MinItems != nil && !g.oneIn(10) {
		n = max(n, *t.MinItems)
	}
	if extra == nil {
		extra = &model.Type{}
	}
	for range n {
		list = append(list, member{pick(g, "k", "l", "m", "o/p~", "é\"", "A", "Kind", "", "x1"), extra, nullable})
	}
	if g.oneIn(3) {
		g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	g.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			g.WriteByte(',')
		}
		g.space()
		g.text(m.name)
		g.space()
		g.WriteByte(':')
		g.value(m.typ, m.nullable, depth+1)
	}
	g.WriteByte('}')
}
