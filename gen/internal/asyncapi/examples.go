package asyncapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// examples reads those of a message.
func (l *loader) examples(m *message) {
	for _, n := range l.items(m.all, "examples") {
		if !l.object(n, exampleFields, nil) {
			continue
		}
		out := model.Example{Name: l.text(n, "name")}
		if p := n.Get("payload"); p != nil {
			if !l.fits(p, m.model.Payload, false, 0) {
				continue
			}
			out.Payload = appendJSON(nil, p)
			if l.examplesSize += len(out.Payload); l.examplesSize > maxExamples {
				l.problems.Addf(diag.TooBig, n.Pos, "leave some out", "the examples have more than %d bytes together", maxExamples)
				return
			}
		}
		for _, h := range l.members(n, "headers") {
			if h.Value.Kind == source.Map || h.Value.Kind == source.List || h.Value.Kind == source.Null {
				l.misfit(h.Value, "a header must be text, number or boolean")
				continue
			}
			if out.Headers == nil {
				out.Headers = map[string]string{}
			}
			out.Headers[h.Name] = h.Value.Text
		}
		if m.model.Headers != nil && n.Get("headers") != nil {
			l.fits(n.Get("headers"), m.model.Headers, false, 0)
		}
		m.model.Examples = append(m.model.Examples, out)
	}
}

func (l *loader) misfit(n *source.Node, format string, args ...any) bool {
	l.problems.Addf(diag.BadExample, n.Pos, "mend the example or the schema", "the example does not fit: %s", fmt.Sprintf(format, args...))
	return false
}

// fits checks an example: its shape, and what members it has. Bounds and
// formats are left to the test that is generated from it.
func (l *loader) fits(n *source.Node, t *model.Type, nullable bool, depth int) bool {
	if n.Kind == source.Null && (nullable || t.Kind == model.Raw) || t.Kind == model.Raw || depth > 64 {
		return true
	}
	want := func(ok bool) bool {
		return ok || l.misfit(n, "must be %s, is %s", kindName(t), n.Kind)
	}
	switch t.Kind {
	case model.Bool:
		return want(n.Kind == source.Bool)
	case model.Int, model.Float:
		return want(n.Kind == source.Int || n.Kind == source.Float)
	case model.String:
		return want(n.Kind == source.String) && l.fitsText(n, t)
	case model.Array:
		if !want(n.Kind == source.List) {
			return false
		}
		ok := true
		for _, item := range n.Items {
			ok = l.fits(item, t.Elem, t.ElemNullable, depth+1) && ok
		}
		return ok
	case model.Object, model.MapOf:
		return want(n.Kind == source.Map) && l.fitsObject(n, t, depth)
	case model.Union:
		if v := variant(n, t); v != nil {
			return l.fits(n, v, false, depth+1)
		}
		return t.Discriminator == "" || l.misfit(n, "%q is none of the known ones", t.Discriminator)
	}
	return true
}

func (l *loader) fitsText(n *source.Node, t *model.Type) bool {
	if t.Const != "" && string(appendJSON(nil, n)) != t.Const {
		return l.misfit(n, "must be %s", t.Const)
	}
	if len(t.Enum) > 0 && !t.OpenEnum && !slices.ContainsFunc(t.Enum, func(v model.EnumValue) bool { return v.Value == n.Text }) {
		return l.misfit(n, "%s is none of the allowed values", show(n))
	}
	return true
}

func (l *loader) fitsObject(n *source.Node, t *model.Type, depth int) bool {
	ok := true
	known := map[string]bool{}
	for _, f := range t.Fields {
		known[f.Name] = true
		switch v := n.Get(f.Name); {
		case v != nil:
			ok = l.fits(v, f.Type, f.Nullable, depth+1) && ok
		case f.Required:
			ok = l.misfit(n, "%q is missing", f.Name)
		}
	}
	extra, nullable := t.Extra, t.ExtraNullable
	if t.Kind == model.MapOf {
		extra, nullable = t.Elem, t.ElemNullable
	}
	for _, f := range n.Fields {
		switch {
		case known[f.Name]:
		case t.Closed:
			ok = l.misfit(f.Value, "there is no %q in the schema", f.Name)
		case extra != nil:
			ok = l.fits(f.Value, extra, nullable, depth+1) && ok
		}
	}
	return ok
}

// variant is the alternative of a union that a value claims to be, if that can
// be told from its discriminator.
func variant(n *source.Node, t *model.Type) *model.Type {
	d := n.Get(t.Discriminator)
	if t.Discriminator == "" || d == nil {
		return nil
	}
	for _, v := range t.Variants {
		if v.Value == d.Text {
			return v.Type
		}
	}
	return nil
}

// appendJSON writes a node as JSON. Numbers stay as they are written.
func appendJSON(b []byte, n *source.Node) []byte {
	switch n.Kind {
	case source.Map:
		b = append(b, '{')
		for i, f := range n.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote(b, f.Name), ':')
			b = appendJSON(b, f.Value)
		}
		return append(b, '}')
	case source.List:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case source.String:
		return quote(b, n.Text)
	case source.Null:
		return append(b, "null"...)
	default:
		return append(b, n.Text...)
	}
}

func quote(b []byte, s string) []byte {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return strconv.AppendQuote(b, s)
	}
	return append(b, strings.TrimSuffix(out.String(), "\n")...)
}
