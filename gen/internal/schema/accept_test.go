package schema_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/gen/internal/model"
)

// accepts says whether a type allows a value, as the model's comments define it:
// straight from them, so that it shares nothing with generated code.
func accepts(t *model.Type, v any, nullable bool) bool {
	if v == nil && t.Kind != model.Raw {
		return nullable
	}
	switch t.Kind {
	case model.Raw:
		return true
	case model.Bool:
		b, ok := v.(bool)
		return ok && (t.Const == "" || t.Const == fmt.Sprint(b))
	case model.Int, model.Float:
		n, ok := v.(json.Number)
		return ok && acceptsNumber(t, rat(n.String()))
	case model.String:
		s, ok := v.(string)
		return ok && acceptsText(t, s)
	case model.Array:
		list, ok := v.([]any)
		return ok && within(len(list), t.MinItems, t.MaxItems) && (!t.UniqueItems || distinct(list)) &&
			!slices.ContainsFunc(list, func(e any) bool { return !accepts(t.Elem, e, t.ElemNullable) })
	case model.MapOf:
		m, ok := v.(map[string]any)
		if !ok || !within(len(m), t.MinItems, t.MaxItems) {
			return false
		}
		for _, e := range m {
			if !accepts(t.Elem, e, t.ElemNullable) {
				return false
			}
		}
		return true
	case model.Object:
		m, ok := v.(map[string]any)
		return ok && acceptsObject(t, m)
	case model.Union:
		return acceptsUnion(t, v)
	}
	panic(fmt.Sprint("a kind ", t.Kind))
}

func acceptsObject(t *model.Type, m map[string]any) bool {
	if !within(len(m), t.MinItems, t.MaxItems) {
		return false
	}
	known := map[string]bool{}
	for _, f := range t.Fields {
		known[f.Name] = true
		e, has := m[f.Name]
		if !has && f.Required || has && !accepts(f.Type, e, f.Nullable) {
			return false
		}
	}
	for name, e := range m {
		if !known[name] && (t.Closed || t.Extra != nil && !accepts(t.Extra, e, t.ExtraNullable)) {
			return false
		}
	}
	return true
}

func acceptsUnion(t *model.Type, v any) bool {
	if t.Discriminator != "" {
		m, _ := v.(map[string]any)
		for _, variant := range t.Variants {
			if m != nil && m[t.Discriminator] == variant.Value {
				return accepts(variant.Type, v, false)
			}
		}
		return false
	}
	return slices.ContainsFunc(t.Variants, func(variant *model.Variant) bool { return accepts(variant.Type, v, false) })
}

func acceptsNumber(t *model.Type, n *big.Rat) bool {
	if t.Kind == model.Int && !n.IsInt() {
		return false
	}
	if t.Const != "" && rat(t.Const).Cmp(n) != 0 {
		return false
	}
	if t.Enum != nil && !t.OpenEnum && !slices.ContainsFunc(t.Enum, func(e model.EnumValue) bool { return rat(e.Value).Cmp(n) == 0 }) {
		return false
	}
	return (t.Minimum == "" || n.Cmp(rat(t.Minimum)) >= 0) && (t.Maximum == "" || n.Cmp(rat(t.Maximum)) <= 0) &&
		(t.ExclusiveMinimum == "" || n.Cmp(rat(t.ExclusiveMinimum)) > 0) && (t.ExclusiveMaximum == "" || n.Cmp(rat(t.ExclusiveMaximum)) < 0) &&
		(t.MultipleOf == "" || new(big.Rat).Quo(n, rat(t.MultipleOf)).IsInt())
}

func acceptsText(t *model.Type, s string) bool {
	if t.Const != "" && t.Const != literalOf(s) {
		return false
	}
	if t.Enum != nil && !t.OpenEnum && !slices.ContainsFunc(t.Enum, func(e model.EnumValue) bool { return e.Value == s }) {
		return false
	}
	return within(utf8.RuneCountInString(s), t.MinLength, t.MaxLength) &&
		(t.Pattern == "" || regexp.MustCompile(t.Pattern).MatchString(s)) &&
		(t.Format == "" || formatOf(t.Format).Validate(s) == nil)
}

func within(n int, low, high *int) bool {
	return (low == nil || n >= *low) && (high == nil || n <= *high)
}

// distinct compares numbers by value.
func distinct(list []any) bool {
	seen := map[string]bool{}
	for _, e := range list {
		seen[canonical(e)] = true
	}
	return len(seen) == len(list)
}

func canonical(v any) string {
	switch v := v.(type) {
	case json.Number:
		return rat(v.String()).RatString()
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, canonical(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for name, e := range v {
			parts = append(parts, literalOf(name)+":"+canonical(e))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	default:
		return literalOf(v)
	}
}

func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("not a number: " + s)
	}
	return r
}

func literalOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func formatOf(name string) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	if err := c.AddResource("mem:///f", map[string]any{"format": name}); err != nil {
		panic(err)
	}
	return c.MustCompile("mem:///f")
}
