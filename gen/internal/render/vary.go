package render

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// series is an endless row of values: a format of package fmt with one %d for
// begin+n*step.
type series struct {
	format      string // of the value's text
	kind        kind   // jsonString or jsonNumber
	begin, step int64
}

func (s series) value(n int) *value {
	return &value{kind: s.kind, text: fmt.Sprintf(s.format, s.begin+int64(n)*s.step)}
}

// arg is the Go expression of the format's argument in terms of n.
func (s series) arg() string {
	arg := "n"
	if s.step != 1 {
		arg = strconv.FormatInt(s.step, 10) + "*n"
	}
	if s.begin != 0 {
		arg = strconv.FormatInt(s.begin, 10) + "+" + arg
	}
	return arg
}

// tried are the numbers at which a series is tried out.
func tried() []int { return []int{0, 1, 2, 9, 10, 63, 99, 100, 255, 999} }

// vary finds a series of different values of a type, most like the given one.
func vary(t *model.Type, like *value) (series, bool) {
	if t.Const != "" || len(t.Enum) > 0 && !t.OpenEnum {
		return series{}, false
	}
	for _, s := range candidates(t, like) {
		fits := !slices.ContainsFunc(tried(), func(n int) bool { return !conforms(t, s.value(n)) })
		if fits && !s.value(100).equal(s.value(999)) {
			return s, true
		}
	}
	return series{}, false
}

var digits = regexp.MustCompile(`[0-9]{3,}`)

func candidates(t *model.Type, like *value) []series {
	switch t.Kind {
	case model.Int, model.Float:
		return numberSeries(t, like)
	case model.String, model.Raw:
	default:
		return nil
	}
	s := strings.ReplaceAll(like.text, "%", "%%")
	strs := func(formats ...string) (out []series) {
		for _, f := range formats {
			out = append(out, series{format: f, kind: jsonString, step: 1})
		}
		return out
	}
	var out []series
	// Digits that are there count on from where they are.
	if runs := digits.FindAllStringIndex(s, -1); t.Format == "" && len(runs) > 0 {
		run := runs[len(runs)-1]
		width := run[1] - run[0]
		if begin, err := strconv.ParseInt(s[run[0]:run[1]], 10, 64); err == nil && width < 18 {
			format := fmt.Sprintf("%s%%0%dd%s", s[:run[0]], width, s[run[1]:])
			out = append(out, series{format: format, kind: jsonString, begin: begin, step: 1})
			out = append(out, series{format: format, kind: jsonString, step: 1})
		}
	}
	switch t.Format {
	case "uuid":
		if len(like.text) == 36 {
			out = append(out, strs(like.text[:24]+"%012d")...)
		}
		return append(out, strs("018f0000-0000-7000-8000-%012d")...)
	case "date-time":
		return strs("2026-01-02T15:04:05.%06dZ")
	case "time":
		return strs("15:04:05.%06dZ")
	case "date":
		return strs("2%03d-01-02")
	case "email":
		local, domain, _ := strings.Cut(s, "@")
		return strs(local+"-%d@"+domain, "n%d@example.com")
	case "uri":
		return strs(s+"/%d", s+"%d", "https://example.com/%d")
	}
	out = append(out, strs(s+"-%d", s+"%d", "%d", "%03d")...)
	if t.MinLength != nil && *t.MinLength < 200 {
		out = append(out, strs(fmt.Sprintf("%%0%dd", *t.MinLength))...)
	}
	if t.Pattern != "" {
		for _, p := range fromPattern(t.Pattern) {
			if run := digits.FindStringIndex(p); run != nil {
				p = strings.ReplaceAll(p, "%", "%%")
				run = digits.FindStringIndex(p)
				out = append(out, strs(fmt.Sprintf("%s%%0%dd%s", p[:run[0]], run[1]-run[0], p[run[1]:]))...)
			}
			out = append(out, strs(strings.ReplaceAll(p, "%", "%%")+"%d")...)
		}
	}
	return out
}

func numberSeries(t *model.Type, like *value) []series {
	step := int64(1)
	if m := rat(t.MultipleOf); t.MultipleOf != "" && m.Sign() > 0 {
		if !m.Num().IsInt64() {
			return nil
		}
		step = m.Num().Int64() // a multiple of a fraction too
	}
	var begins []*big.Rat
	if like.kind == jsonNumber {
		begins = append(begins, rat(like.text))
	}
	begins = append(begins, big.NewRat(step, 1))
	for _, bound := range []string{t.Minimum, t.ExclusiveMinimum} {
		if bound == "" {
			continue
		}
		q := new(big.Rat).Quo(rat(bound), big.NewRat(step, 1))
		k := new(big.Int).Add(new(big.Int).Div(q.Num(), q.Denom()), big.NewInt(1))
		begins = append(begins, new(big.Rat).Mul(new(big.Rat).SetInt(k), big.NewRat(step, 1)))
	}
	var out []series
	for _, b := range begins {
		if b.IsInt() && b.Num().IsInt64() {
			out = append(out, series{format: "%d", kind: jsonNumber, begin: b.Num().Int64(), step: step})
		}
	}
	return out
}

// others returns values of a type that differ from the given one.
func others(t *model.Type, like *value) []*value {
	var out []*value
	add := func(v *value) {
		if v != nil && !v.equal(like) && conforms(t, v) {
			out = append(out, v)
		}
	}
	switch t.Kind {
	case model.Bool:
		add(boolean(like.kind == jsonFalse))
	case model.Int, model.Float:
		for _, d := range []int64{1, -1} {
			add(number(decimal(new(big.Rat).Add(rat(like.text), big.NewRat(d, 1)))))
		}
	case model.String:
		if t.Format == "" {
			add(text(like.text + "x"))
		}
	case model.Raw:
		if like.kind == jsonString {
			add(text(like.text + "x"))
		}
	}
	for _, e := range t.Enum[:min(len(t.Enum), 8)] { // a few are choice enough
		if t.Kind == model.String {
			add(text(e.Value))
		} else {
			add(number(e.Value))
		}
	}
	if s, ok := vary(t, like); ok {
		add(s.value(1))
		add(s.value(2))
	}
	return out
}
