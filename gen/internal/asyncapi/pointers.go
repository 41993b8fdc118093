package asyncapi

import (
	"fmt"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// problem is why an expression is no good for a message.
type problem struct {
	code      diag.Code
	what, fix string
	pos       diag.Pos // of the schema
}

// checkKey checks that every message has every part of a key.
func (l *loader) checkKey(o *operation, key []expression) {
	for _, m := range o.messages {
		constant := len(key) > 0
		for _, e := range key {
			p, fixed := keyPart(m, e)
			if p != nil {
				l.report(m, e, p)
			}
			constant = constant && p == nil && fixed
		}
		if constant {
			l.problems.Addf(diag.KeyConstant, key[0].node.Pos, "add a value that differs from message to message",
				"the key of message %q is a constant: only the first message would be handled", m.name)
		}
	}
}

func (l *loader) report(m *message, e expression, p *problem) {
	out := diag.Problem{
		Code: p.code, Pos: e.node.Pos, Fix: p.fix,
		Message: fmt.Sprintf("%s: %s of message %q", clip(e.node.Text), p.what, m.name),
	}
	if p.pos.Line > 0 && p.pos != e.node.Pos {
		out.Related = []diag.Related{{Pos: p.pos, Note: "the schema"}}
	}
	l.problems.Add(out)
}

// keyPart checks one part against one message; fixed says that it is a constant.
func keyPart(m *message, e expression) (p *problem, fixed bool) {
	headers := m.all.Get("headers")
	switch {
	case e.Header == "" && m.model.Payload != nil:
		return walk(m.model.Payload, pointerTokens(e.Pointer), true)
	case e.Header != "" && m.model.Headers != nil:
		return walk(m.model.Headers, []string{e.Header}, true)
	case e.Header != "" && headers == nil:
		return &problem{code: diag.KeyNoHeaders, what: "there are no headers in the declaration", pos: m.def.Pos,
			fix: fmt.Sprintf("add headers: {type: object, required: [%s], properties: {%[1]s: {type: string}}}", e.Header)}, false
	}
	return nil, false // it could not be read, which was reported
}

// checkPath checks that every message declares a value.
func (l *loader) checkPath(o *operation, e expression) {
	for _, m := range o.messages {
		if m.model.Payload == nil {
			continue
		}
		if p, _ := walk(m.model.Payload, pointerTokens(e.Pointer), false); p != nil {
			p.code = diag.PathAbsent
			l.report(m, e, p)
		}
	}
}

// walk follows names into a type. With strict each value on the way must be
// there and the last must be a scalar, the same on every way through a union.
func walk(t *model.Type, tokens []string, strict bool) (p *problem, fixed bool) {
	if len(tokens) == 0 {
		if strict && !scalar(t) {
			return &problem{code: diag.KeyNotScalar, what: "it is " + kindName(t) + ", not text, number or boolean, in the payload",
				fix: "point to a single value", pos: t.Pos}, false
		}
		return nil, t.Const != "" || len(t.Enum) == 1 && !t.OpenEnum
	}
	name := tokens[0]
	switch t.Kind {
	case model.Object:
		for _, f := range t.Fields {
			if f.Name != name {
				continue
			}
			switch {
			case strict && !f.Required:
				return &problem{code: diag.KeyOptional, what: fmt.Sprintf("%q is optional in the schema", name), fix: "add it to required", pos: f.Pos}, false
			case strict && f.Nullable:
				return &problem{code: diag.KeyOptional, what: fmt.Sprintf("%q may be null in the schema", name), fix: "forbid null", pos: f.Pos}, false
			}
			return walk(f.Type, tokens[1:], strict)
		}
		if t.Extra != nil && !strict {
			return walk(t.Extra, tokens[1:], strict)
		}
		names := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			names[i] = f.Name
		}
		return &problem{code: diag.KeyAbsent, what: fmt.Sprintf("there is no %q in the schema", name), fix: diag.Suggest(name, names), pos: t.Pos}, false
	case model.Union:
		fixed = true
		for _, v := range t.Variants {
			p, f := walk(v.Type, tokens, strict)
			if p != nil {
				return p, false
			}
			fixed = fixed && f
		}
		return nil, fixed
	case model.Raw:
		if !strict {
			return nil, false
		}
	case model.MapOf:
		if !strict {
			return walk(t.Elem, tokens[1:], strict)
		}
		return &problem{code: diag.KeyOptional, what: fmt.Sprintf("%q is optional, a member of a map, in the schema", name),
			fix: "declare it in properties and required", pos: t.Pos}, false
	}
	return &problem{code: diag.KeyAbsent, what: fmt.Sprintf("there is no %q in %s in the schema", name, kindName(t)),
		fix: "point to a value that is declared", pos: t.Pos}, false
}

// scalar reports whether every value of the type is text, number or boolean.
func scalar(t *model.Type) bool {
	switch t.Kind {
	case model.Bool, model.Int, model.Float, model.String:
		return true
	case model.Union:
		for _, v := range t.Variants {
			if !scalar(v.Type) {
				return false
			}
		}
		return true
	}
	return false
}

func kindName(t *model.Type) string {
	switch t.Kind {
	case model.Object, model.MapOf:
		return "an object"
	case model.Array:
		return "a list"
	case model.Union:
		return "one of several things"
	case model.Raw:
		return "any value"
	case model.Bool:
		return "a boolean"
	case model.String:
		return "text"
	default:
		return "a number"
	}
}
