package gosrc

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// ruleNames are the words of an idem tag. Each is the JSON Schema keyword of
// the same meaning.
var ruleNames = []string{
	"key", "min", "max", "exclusiveMin", "exclusiveMax", "multipleOf", "minLength", "maxLength", "pattern", "format",
	"enum", "const", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "each",
}

var formats = []string{"date-time", "date", "time", "uuid", "email", "uri"}

// apply adds a rule to a type, and returns the type to use: a type that others
// share is copied. name is the rule's without each., the prefix that leads to
// elements.
func (t *typeReader) apply(r rule, name string, typ *model.Type, ok bool) (*model.Type, bool) {
	if rest, each := strings.CutPrefix(name, "each."); each {
		if typ.Kind != model.Array && typ.Kind != model.MapOf {
			return typ, t.badRule(r.pos, "", "%s is for slices and maps", r.name)
		}
		typ.Elem, ok = t.apply(r, rest, typ.Elem, ok)
		return typ, ok
	}
	if slices.Contains(ruleNames, name) && !r.hasValue && name != "key" && name != "uniqueItems" {
		return typ, t.badRule(r.pos, "write "+r.name+"=…", "%s needs a value", r.name)
	}
	out := typ
	var why string
	switch name {
	case "min", "max", "exclusiveMin", "exclusiveMax", "multipleOf":
		why = bound(r, name, typ)
	case "minLength":
		why = length(r, &typ.MinLength, plainString(typ), "text")
	case "maxLength":
		why = length(r, &typ.MaxLength, plainString(typ), "text")
	case "minItems":
		why = length(r, &typ.MinItems, typ.Kind == model.Array, "slices")
	case "maxItems":
		why = length(r, &typ.MaxItems, typ.Kind == model.Array, "slices")
	case "minProperties":
		why = length(r, &typ.MinItems, typ.Kind == model.MapOf, "maps")
	case "maxProperties":
		why = length(r, &typ.MaxItems, typ.Kind == model.MapOf, "maps")
	case "uniqueItems":
		if why = "is for slices"; typ.Kind == model.Array {
			why, typ.UniqueItems = "", true
		}
		if r.hasValue {
			why = "takes no value"
		}
	case "pattern":
		why = pattern(r, typ)
	case "format":
		if why = "is for text"; plainString(typ) {
			if why = "must be one of " + strings.Join(formats, ", "); slices.Contains(formats, r.value) {
				why, typ.Format = "", r.value
			}
		}
	case "enum":
		why = enumRule(r, typ, t.openEnum)
	case "const":
		out, why = constRule(r, typ)
	case "key":
		why = "is for the field itself"
	default: // see ruleNames
		t.problems.Addf(diag.UnknownRule, r.pos, diag.Suggest(name, ruleNames), "an idem tag has no word %q", r.name)
		return typ, false
	}
	if !utf8.ValidString(r.value) {
		why = "must be UTF-8 text"
	}
	if why != "" {
		return out, t.badRule(r.pos, "", "%s %s", r.name, why)
	}
	return out, ok
}

func (t *typeReader) badRule(at diag.Pos, fix, format string, args ...any) bool {
	t.problems.Addf(diag.BadRule, at, fix, format, args...)
	return false
}

// plainString says whether rules of text apply: not to what has a list of
// values or a Go type of its own.
func plainString(typ *model.Type) bool {
	return typ.Kind == model.String && typ.Enum == nil && typ.GoType == ""
}

func length(r rule, to **int, fits bool, what string) string {
	if !fits {
		return "is for " + what
	}
	n, err := strconv.Atoi(r.value)
	if err != nil || n < 0 || r.value[0] == '+' {
		return fmt.Sprintf("must be a number from 0, is %q", r.value)
	}
	*to = &n
	return ""
}

func bound(r rule, name string, typ *model.Type) string {
	if (typ.Kind != model.Int && typ.Kind != model.Float) || typ.Enum != nil {
		return "is for numbers"
	}
	v, ok := jsonNumber(r.value)
	switch {
	case !ok:
		return fmt.Sprintf("must be a JSON number, is %q", r.value)
	case typ.Kind == model.Int && !v.IsInt():
		return fmt.Sprintf("must be an integer, is %q", r.value)
	case typ.Kind == model.Int && outside(v, typ):
		return fmt.Sprintf("%s is outside the range of the field's type", r.value)
	}
	switch name {
	case "min":
		typ.Minimum = r.value
	case "max":
		typ.Maximum = r.value
	case "exclusiveMin":
		typ.ExclusiveMinimum = r.value
	case "exclusiveMax":
		typ.ExclusiveMaximum = r.value
	case "multipleOf":
		if typ.MultipleOf = r.value; v.Sign() <= 0 {
			return "must be above 0"
		}
	}
	return ""
}

var (
	leastInt, _    = new(big.Rat).SetString("-9223372036854775808")
	greatestInt, _ = new(big.Rat).SetString("9223372036854775807")
)

// outside says whether a number is none of an integer type.
func outside(v *big.Rat, typ *model.Type) bool {
	low, high := leastInt, greatestInt
	if n, ok := jsonNumber(typ.Minimum); ok {
		low = n
	}
	if n, ok := jsonNumber(typ.Maximum); ok {
		high = n
	}
	return v.Cmp(low) < 0 || v.Cmp(high) > 0
}

// jsonNumber reads a number of JSON, within reason.
func jsonNumber(text string) (*big.Rat, bool) {
	if !json.Valid([]byte(text)) || text == "" || !strings.ContainsAny(text[:1], "-0123456789") || len(text) > 40 {
		return nil, false
	}
	if _, exp, found := strings.Cut(strings.ToLower(text), "e"); found {
		if n, err := strconv.Atoi(exp); err != nil || n > 400 || n < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

func pattern(r rule, typ *model.Type) string {
	if !plainString(typ) {
		return "is for text"
	}
	if !r.quoted {
		return "must be in single quotes, as commas end a value"
	}
	if _, err := regexp.Compile(r.value); err != nil {
		return "is not a regular expression of Go"
	}
	typ.Pattern = r.value
	return ""
}

// enumRule reads enum=a|b at a field.
func enumRule(r rule, typ *model.Type, open bool) string {
	if (typ.Kind != model.String && typ.Kind != model.Int) || typ.Name != "" || typ.GoType != "" {
		return "is for text and integers without constants of their own"
	}
	var values []model.EnumValue
	for v := range strings.SplitSeq(r.value, "|") {
		for _, other := range values {
			if other.Value == v {
				return fmt.Sprintf("has %q twice", v)
			}
		}
		if typ.Kind == model.Int {
			if n, ok := jsonNumber(v); !ok || !n.IsInt() || outside(n, typ) || n.RatString() != v {
				return fmt.Sprintf("has %q, which is no value of the field's type", v)
			}
		}
		values = append(values, model.EnumValue{Value: v})
	}
	typ.Enum, typ.OpenEnum = values, open
	typ.Minimum, typ.Maximum = "", ""
	return ""
}

// constRule makes a type of one value. Of an enum it is one of its values, for
// a field that says which message it is.
func constRule(r rule, typ *model.Type) (*model.Type, string) {
	text := r.value
	switch {
	case typ.GoType != "":
		return typ, "is for text, numbers and booleans"
	case typ.Kind == model.String:
		quoted, _ := json.Marshal(text)
		text = string(quoted)
	case typ.Kind == model.Bool:
		if text != "true" && text != "false" {
			return typ, fmt.Sprintf("must be true or false, is %q", text)
		}
	case typ.Kind == model.Int, typ.Kind == model.Float:
		n, ok := jsonNumber(text)
		if !ok || typ.Kind == model.Int && (!n.IsInt() || outside(n, typ) || n.RatString() != text) {
			return typ, fmt.Sprintf("%q is no value of the field's type", text)
		}
	default:
		return typ, "is for text, numbers and booleans"
	}
	if typ.Enum != nil {
		if !hasValue(typ.Enum, r.value) {
			return typ, fmt.Sprintf("%q is none of the constants of %s", r.value, typ.Name)
		}
	}
	return &model.Type{Kind: typ.Kind, Description: typ.Description, Declared: true, Unsigned: typ.Unsigned, Const: text}, ""
}

func hasValue(values []model.EnumValue, v string) bool {
	for _, e := range values {
		if e.Value == v {
			return true
		}
	}
	return false
}

// consistent reports rules that contradict each other.
func (t *typeReader) consistent(typ *model.Type, tag fieldTag) bool {
	for i, r := range tag.rules {
		of := func(name string) string { return name[:strings.LastIndex(name, ".")+1] }
		alone := strings.HasSuffix(r.name, "const") || strings.HasSuffix(r.name, "enum")
		for j, other := range tag.rules {
			switch {
			case j < i && r.name == other.name:
				return t.badRule(r.pos, "remove one", "%s is given twice", r.name)
			case j != i && alone && other.name != "key" && of(r.name) == of(other.name):
				return t.badRule(other.pos, "remove it", "%s says all about the value, so that %s has nothing to say", r.name, other.name)
			}
		}
	}
	low, okLow := jsonNumber(typ.Minimum)
	high, okHigh := jsonNumber(typ.Maximum)
	switch {
	case len(tag.rules) == 0:
		return true
	case okLow && okHigh && low.Cmp(high) > 0:
		return t.badRule(tag.idemPos, "", "min %s is above max %s", typ.Minimum, typ.Maximum)
	case typ.MinLength != nil && typ.MaxLength != nil && *typ.MinLength > *typ.MaxLength:
		return t.badRule(tag.idemPos, "", "minLength %d is above maxLength %d", *typ.MinLength, *typ.MaxLength)
	case typ.MinItems != nil && typ.MaxItems != nil && *typ.MinItems > *typ.MaxItems:
		return t.badRule(tag.idemPos, "", "there can be neither %d items nor %d", *typ.MinItems, *typ.MaxItems)
	}
	return true
}
