package render

import (
	"math/big"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/model"
)

// conforms reports whether a value is one of the type. It serves to choose
// samples only: what a program accepts is for its generated code to say.
func conforms(t *model.Type, v *value) bool {
	switch t.Kind {
	case model.Raw:
		return true
	case model.Bool:
		return (v.kind == jsonTrue || v.kind == jsonFalse) && constant(t, v)
	case model.Int, model.Float:
		return v.kind == jsonNumber && numberConforms(t, v.text) && constant(t, v)
	case model.String:
		return v.kind == jsonString && stringConforms(t, v.text) && constant(t, v)
	case model.Array:
		return v.kind == jsonArray && arrayConforms(t, v)
	case model.MapOf:
		return v.kind == jsonObject && within(len(v.members), t.MinItems, t.MaxItems) &&
			!slices.ContainsFunc(v.members, func(m member) bool { return !conformsOrNull(t.Elem, t.ElemNullable, m.value) })
	case model.Object:
		return v.kind == jsonObject && objectConforms(t, v)
	case model.Union:
		return variantOf(t, v) != nil && conforms(variantOf(t, v), v)
	default:
		return false
	}
}

func conformsOrNull(t *model.Type, nullable bool, v *value) bool {
	return nullable && v.kind == jsonNull || conforms(t, v)
}

func within(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

func constant(t *model.Type, v *value) bool {
	if t.Const == "" {
		return true
	}
	c := parse([]byte(t.Const))
	return c != nil && (c.equal(v) || c.kind == jsonNumber && v.kind == jsonNumber && rat(c.text).Cmp(rat(v.text)) == 0)
}

// rat is 0 for numbers too large to be worth computing.
func rat(s string) *big.Rat {
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(exponent) > 4 {
		return new(big.Rat)
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return new(big.Rat)
	}
	return r
}

func numberConforms(t *model.Type, s string) bool {
	r := rat(s)
	if t.Kind == model.Int {
		if !r.IsInt() || t.Unsigned && !r.Num().IsUint64() || !t.Unsigned && !r.Num().IsInt64() {
			return false
		}
	}
	if len(t.Enum) > 0 && !t.OpenEnum && !slices.ContainsFunc(t.Enum, func(e model.EnumValue) bool { return rat(e.Value).Cmp(r) == 0 }) {
		return false
	}
	return (t.Minimum == "" || r.Cmp(rat(t.Minimum)) >= 0) &&
		(t.Maximum == "" || r.Cmp(rat(t.Maximum)) <= 0) &&
		(t.ExclusiveMinimum == "" || r.Cmp(rat(t.ExclusiveMinimum)) > 0) &&
		(t.ExclusiveMaximum == "" || r.Cmp(rat(t.ExclusiveMaximum)) < 0) &&
		(t.MultipleOf == "" || rat(t.MultipleOf).Sign() != 0 && new(big.Rat).Quo(r, rat(t.MultipleOf)).IsInt())
}

func stringConforms(t *model.Type, s string) bool {
	if len(t.Enum) > 0 && !t.OpenEnum && !slices.ContainsFunc(t.Enum, func(e model.EnumValue) bool { return e.Value == s }) {
		return false
	}
	if !within(utf8.RuneCountInString(s), t.MinLength, t.MaxLength) {
		return false
	}
	if t.Pattern != "" {
		re, err := regexp.Compile(t.Pattern)
		if err != nil || !re.MatchString(s) {
			return false
		}
	}
	return formatConforms(t.Format, s)
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func formatConforms(format, s string) bool {
	var err error
	switch format {
	case "date-time":
		_, err = time.Parse(time.RFC3339Nano, s)
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "time":
		_, err = time.Parse("15:04:05.999999999Z07:00", s)
	case "uuid":
		return uuid.MatchString(s)
	case "email":
		_, err = mail.ParseAddress(s)
	case "uri":
		var u *url.URL
		u, err = url.Parse(s)
		return err == nil && u.IsAbs()
	}
	return err == nil
}

func arrayConforms(t *model.Type, v *value) bool {
	if !within(len(v.items), t.MinItems, t.MaxItems) {
		return false
	}
	for i, item := range v.items {
		if !conformsOrNull(t.Elem, t.ElemNullable, item) {
			return false
		}
		if t.UniqueItems && slices.ContainsFunc(v.items[:i], item.equal) {
			return false
		}
	}
	return true
}

func objectConforms(t *model.Type, v *value) bool {
	if !within(len(v.members), t.MinItems, t.MaxItems) {
		return false
	}
	for _, f := range t.Fields {
		m := v.member(f.Name)
		if m == nil && f.Required || m != nil && !conformsOrNull(f.Type, f.Nullable, m) {
			return false
		}
	}
	for _, m := range v.members {
		if fieldOf(t, m.name) != nil {
			continue
		}
		if t.Closed || t.Extra != nil && !conformsOrNull(t.Extra, t.ExtraNullable, m.value) {
			return false
		}
	}
	return true
}

func fieldOf(t *model.Type, name string) *model.Field {
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// variantOf returns the variant that a value of a union has to be, or nil.
func variantOf(t *model.Type, v *value) *model.Type {
	for _, variant := range t.Variants {
		if t.Discriminator != "" {
			if m := v.member(t.Discriminator); m != nil && m.scalarText() == variant.Value {
				return variant.Type
			}
		} else if slices.Contains(kindsOf(variant.Type), v.kind) {
			return variant.Type
		}
	}
	return nil
}

// kindsOf returns the JSON types that a type's values may have.
func kindsOf(t *model.Type) []kind {
	switch t.Kind {
	case model.Bool:
		return []kind{jsonTrue, jsonFalse}
	case model.Int, model.Float:
		return []kind{jsonNumber}
	case model.String:
		return []kind{jsonString}
	case model.Array:
		return []kind{jsonArray}
	case model.Object, model.MapOf:
		return []kind{jsonObject}
	default:
		return []kind{jsonNull, jsonFalse, jsonTrue, jsonNumber, jsonString, jsonArray, jsonObject}
	}
}
