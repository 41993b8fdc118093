package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/idem-go/idem/gen/internal/model"
)

// goString writes a string as people would: with back quotes if it has several
// lines or quotes, else with double quotes.
func goString(s string) string {
	odd := strings.ContainsFunc(s, func(r rune) bool {
		return r == '`' || r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == '\uFFFD' || r == '\uFEFF'
	})
	if !odd && strings.ContainsAny(s, "\"\n\\") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// goDuration writes a duration in the largest unit that divides it.
func goDuration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}} {
		if d%u.unit == 0 {
			if d == u.unit {
				return "time." + u.name
			}
			return fmt.Sprintf("%d * time.%s", d/u.unit, u.name)
		}
	}
	return strconv.FormatInt(int64(d), 10)
}

func keyParts(parts []model.KeyPart) string {
	list := make([]string, len(parts))
	for i, p := range parts {
		if p.Header != "" {
			list[i] = "idem.FromHeader(" + strconv.Quote(p.Header) + ")"
		} else {
			list[i] = "idem.FromPayload(" + strconv.Quote(p.Pointer) + ")"
		}
	}
	return strings.Join(list, ", ")
}

func recipe(op *model.Operation, previous []Recipe) string {
	if op.KeyVersion <= 1 && len(previous) == 0 {
		return "idem.KeyFrom(" + keyParts(op.Key) + ")"
	}
	fields := []string{"Version: " + strconv.Itoa(op.KeyVersion), "Parts: []idem.KeyPart{" + keyParts(op.Key) + "}"}
	if len(previous) > 0 {
		list := "Previous: []idem.KeyRecipe{\n"
		for _, p := range previous {
			list += fmt.Sprintf("{Version: %d, Parts: []idem.KeyPart{%s}", p.Version, keyParts(p.Parts))
			if !p.Fingerprint.Same(op.Fingerprint) {
				list += ", Fingerprint: &" + fingerprint(p.Fingerprint)
			}
			list += "},\n"
		}
		fields = append(fields, list+"}")
	}
	return "idem.KeyRecipe{\n" + strings.Join(fields, ",\n") + ",\n}"
}

// fingerprint writes an idem.Fingerprint.
func fingerprint(f model.Fingerprint) string {
	switch {
	case f.None:
		return "idem.Fingerprint{None: true}"
	case len(f.Pointers) > 0:
		return "idem.Fingerprint{Pointers: " + stringList(f.Pointers) + "}"
	default:
		return "idem.Fingerprint{}"
	}
}

// policy writes an idem.Policy, "" for the default one.
func policy(r model.Retry) string {
	var f []string
	add := func(set bool, name, text string) {
		if set {
			f = append(f, name+": "+text)
		}
	}
	add(r.MaxAttempts != 0, "MaxAttempts", strconv.Itoa(r.MaxAttempts))
	if r.Quick != nil {
		quick := *r.Quick
		if quick == 0 {
			quick = -1 // in an idem.Policy 0 is the default
		}
		f = append(f, "Quick: "+strconv.Itoa(quick))
	}
	add(r.Timeout != 0, "Timeout", goDuration(r.Timeout))
	var b []string
	if r.BackoffBase != 0 {
		b = append(b, "Base: "+goDuration(r.BackoffBase))
	}
	if r.BackoffMax != 0 {
		b = append(b, "Max: "+goDuration(r.BackoffMax))
	}
	if r.BackoffFactor != 0 {
		b = append(b, "Factor: "+strconv.FormatFloat(r.BackoffFactor, 'g', -1, 64))
	}
	add(len(b) > 0, "Backoff", "idem.Backoff{"+strings.Join(b, ", ")+"}")
	add(r.OnBug == "pause", "OnBug", "idem.BugPauses")
	add(r.OnBug == "deadletter", "OnBug", "idem.BugDeadLetters")
	if len(f) == 0 {
		return ""
	}
	return "idem.Policy{" + strings.Join(f, ", ") + "}"
}

// goType writes a type as the package of the messages does.
func goType(t *model.Type) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Kind == model.Bool:
		return "bool"
	case t.Kind == model.Int && t.Unsigned:
		return "uint64"
	case t.Kind == model.Int:
		return "int64"
	case t.Kind == model.Float:
		return "float64"
	case t.Kind == model.String:
		return "string"
	case t.Kind == model.MapOf:
		return "map[string]" + pointerIf(t.ElemNullable, t.Elem)
	case t.Kind == model.Array:
		return "[]" + pointerIf(t.ElemNullable, t.Elem)
	default:
		return "json.RawMessage"
	}
}

func pointerIf(nullable bool, t *model.Type) string {
	if nullable && t.Kind != model.Raw && t.Kind != model.MapOf && t.Kind != model.Array {
		return "*" + goType(t)
	}
	return goType(t)
}
