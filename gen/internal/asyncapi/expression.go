package asyncapi

import (
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// expression is an AsyncAPI runtime expression that points to one header or
// into the payload.
type expression struct {
	model.KeyPart
	node *source.Node
}

const expressionHint = "write $message.payload#/orderId or $message.header#/name"

// expression reads one, or reports why it is none.
func (l *loader) expression(n *source.Node) (expression, bool) {
	e, what, fix := parseExpression(n)
	if what != "" {
		l.problems.Addf(diag.BadExpression, n.Pos, fix, "%s %s", show(n), what)
		return expression{}, false
	}
	return e, true
}

// payloadExpression reads one that points into the payload.
func (l *loader) payloadExpression(n *source.Node) (expression, bool) {
	e, ok := l.expression(n)
	if ok && e.Header != "" {
		l.problems.Addf(diag.BadExpression, n.Pos, "write $message.payload#/…", "%s must point into the payload", show(n))
		return e, false
	}
	return e, ok
}

func parseExpression(n *source.Node) (e expression, what, fix string) {
	if n.Kind != source.String {
		return e, "is not a runtime expression", expressionHint
	}
	source, pointer, fragment := strings.Cut(n.Text, "#")
	switch source {
	case "$message.header", "$message.payload":
	default:
		return e, "is not a runtime expression", expressionHint
	}
	if !fragment || pointer == "" || pointer == "/" {
		return e, "names no value", "add #/ and the name of a value, such as " + source + "#/id"
	}
	if pointer[0] != '/' {
		return e, "has no JSON pointer after #", "write " + source + "#/" + pointer
	}
	for i := range len(pointer) {
		if pointer[i] == '~' && (i+1 == len(pointer) || pointer[i+1] != '0' && pointer[i+1] != '1') {
			return e, "has a ~ that is not part of ~0 or ~1", "write ~0 for ~ and ~1 for /"
		}
	}
	e.node = n
	if source == "$message.payload" {
		e.Pointer = pointer
		return e, "", ""
	}
	tokens := pointerTokens(pointer)
	switch {
	case len(tokens) > 1:
		return e, "points into a header", "a header is text: name it alone, and write ~1 for a / in its name"
	case strings.HasPrefix(tokens[0], "idem-"):
		return e, "is a header of idem, which changes from hop to hop", "choose one that the producer sets"
	}
	e.Header = tokens[0]
	return e, "", ""
}

// pointerTokens are the names in a JSON pointer that is not empty.
func pointerTokens(pointer string) []string {
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens
}

// lastToken is the name that a JSON pointer ends with.
func lastToken(pointer string) string {
	if pointer == "" {
		return ""
	}
	tokens := pointerTokens(pointer)
	return tokens[len(tokens)-1]
}
