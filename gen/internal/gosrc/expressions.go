package gosrc

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
	"github.com/idem-go/idem/gen/internal/source"
)

const (
	headerExpr  = "$message.header#"
	payloadExpr = "$message.payload#"
)

func pointerTo(member string) string { return "/" + source.Escape(member) }

func unquoteJSON(text string) (s string, err error) {
	err = json.Unmarshal([]byte(text), &s)
	return s, err
}

// expression reads a runtime expression of AsyncAPI, or what is short for one
// into the payload: a JSON pointer, or the name of a member.
func (l *loader) expression(p param, text string) (model.KeyPart, bool) {
	pointer := text
	if rest, ok := strings.CutPrefix(text, headerExpr); ok {
		name, ok := strings.CutPrefix(rest, "/")
		if ok && !strings.Contains(name, "/") {
			if name = unescape(name); validHeader(name) {
				return model.KeyPart{Header: name}, true
			}
		}
		l.bad(p, "write "+headerExpr+"/name", "%q names no header", text)
		return model.KeyPart{}, false
	} else if rest, ok := strings.CutPrefix(text, payloadExpr); ok {
		pointer = rest
	} else if strings.HasPrefix(text, "$") {
		l.bad(p, "begin with "+headerExpr+" or "+payloadExpr, "%q is no expression that idemgen knows", text)
		return model.KeyPart{}, false
	} else if !strings.HasPrefix(text, "/") {
		pointer = pointerTo(text)
	}
	if !strings.HasPrefix(pointer, "/") || text == "" {
		l.bad(p, "write the name of a member, or /path/to/it", "%q points to no member", text)
		return model.KeyPart{}, false
	}
	return model.KeyPart{Pointer: pointer}, true
}

// validHeader says whether a name can be that of a header.
func validHeader(name string) bool {
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "idem-") // those are the library's, and change from hop to hop
}

func unescape(token string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(token) }

// payloadExpression is an expression that leads to a member in every message.
func (r *paramReader) payloadExpression(p param, text string) (string, bool) {
	part, ok := r.expression(p, text)
	if !ok {
		return "", false
	}
	if part.Header != "" {
		r.bad(p, "", "%s is about the payload, not about headers", p.name)
		return "", false
	}
	for _, m := range r.messages {
		if f := r.follow(m, part.Pointer); !f.found && !f.unknown {
			r.nowhere(p, part, m)
			return "", false
		}
	}
	return part.Pointer, true
}

func (l *loader) nowhere(p param, part model.KeyPart, m *message) {
	if part.Header != "" {
		l.problems.Addf(diag.BadGoPointer, p.valuePos, diag.Suggest(part.Header, members(m.Headers)), "%s names header %q, which %s does not declare", p.name, part.Header, m.Headers.Name)
		return
	}
	l.problems.Addf(diag.BadGoPointer, p.valuePos, diag.Suggest(strings.TrimPrefix(part.Pointer, "/"), members(m.Payload)), "%s points to %s, which is not in %s", p.name, part.Pointer, m.GoName)
}

func members(typ *model.Type) []string {
	var out []string
	for _, f := range typ.Fields {
		out = append(out, f.Name)
	}
	return out
}

// followed is what a pointer leads to.
type followed struct {
	typ *model.Type
	// found is false if there is nothing. unknown is true if that cannot be
	// said, because a type on the way is not understood.
	found, unknown bool
	// always: the member is in every message, and not null.
	always bool
}

// follow goes along a pointer into the payload of a message.
func (l *loader) follow(m *message, pointer string) followed {
	out := followed{typ: m.Payload, found: true, always: true}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if l.types.broken[out.typ] || (out.typ == m.Payload && !m.known) {
			return followed{unknown: true}
		}
		switch out.typ.Kind {
		case model.Object:
			f := fieldOf(out.typ, unescape(token))
			if f == nil {
				return followed{}
			}
			out.typ, out.always = f.Type, out.always && f.Required && !f.Nullable
		case model.MapOf:
			out.typ, out.always = out.typ.Elem, false
		case model.Raw:
			return followed{typ: out.typ, found: true}
		default:
			return followed{}
		}
	}
	return out
}

func fieldOf(typ *model.Type, name string) *model.Field {
	for _, f := range typ.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// declareHeader adds a header that a key is made of to a message whose
// headers the package does not declare.
func (l *loader) declareHeader(m *message, name string) {
	switch {
	case name == "":
		return
	case m.Headers == nil:
		m.Headers = &model.Type{
			Name: m.GoName + "Headers", Kind: model.Object, Description: m.GoName + "Headers are the headers of " + m.GoName + ".",
			Pos: m.Pos, Source: m.Source,
		}
	case m.Headers.Declared || fieldOf(m.Headers, name) != nil:
		return
	}
	goName := names.Go(name)
	for _, f := range m.Headers.Fields {
		if f.GoName == goName {
			l.taken(m.Pos, f.Pos, "headers %q and %q would both be called %s in Go", f.Name, name, goName)
			break
		}
	}
	m.Headers.Fields = append(m.Headers.Fields, &model.Field{
		Name: name, GoName: goName, Type: &model.Type{Kind: model.String, Pos: m.Pos}, Required: true, Pos: m.Pos,
	})
}

// required reports a part that is no single value, or that some message may
// lack.
func (l *loader) required(p param, part model.KeyPart, messages []*message, what string) bool {
	for _, m := range messages {
		var f followed
		switch {
		case part.Pointer != "":
			f = l.follow(m, part.Pointer)
		case m.Headers == nil || l.types.broken[m.Headers]:
			f.unknown = true
		default:
			if h := fieldOf(m.Headers, part.Header); h != nil {
				f = followed{typ: h.Type, found: true, always: h.Required && !h.Nullable}
			}
		}
		switch {
		case f.unknown:
			return false
		case !f.found:
			l.nowhere(p, part, m)
			return false
		case f.typ.Kind != model.String && f.typ.Kind != model.Int && f.typ.Kind != model.Bool && f.typ.Kind != model.Float:
			l.problems.Addf(diag.BadGoPointer, p.valuePos, "name a field of text or a number", "%s must be a single value", what)
			return false
		case !f.always:
			l.problems.Addf(diag.BadGoPointer, p.valuePos, "use a field without pointer, omitempty and omitzero",
				"%s must be in every message, and %s may be absent or null in %s", what, cmp.Or(part.Header, part.Pointer), m.GoName)
			return false
		}
	}
	return true
}
