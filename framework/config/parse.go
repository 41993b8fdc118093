package config

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The parser's time grows with the square of the tokens.
const (
	maxBytes  = 128 << 10
	maxTokens = 20_000
	maxDepth  = 20 // brackets and dashes
)

// parse returns the document, nil for an empty one, or what keeps it from
// being read.
func parse(data []byte, name string) (body ast.Node, problems Problems) {
	whole := Place{Source: name}
	fail := func(at Place, format string, args ...any) {
		problems = append(problems, Problem{Place: at, Message: short(fmt.Sprintf(format, args...))})
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > maxBytes:
		fail(whole, "is larger than %d KiB", maxBytes>>10)
		return nil, problems
	case !utf8.Valid(data):
		fail(invalid(data, name), "is not UTF-8 text")
		return nil, problems
	}
	tokens, err := guard(func() (token.Tokens, error) { return lexer.Tokenize(string(data)), nil })
	if len(tokens) > maxTokens {
		fail(tokenPlace(tokens[maxTokens], name), "has too many values")
		return nil, problems
	}
	var depth nesting
	for _, tk := range tokens {
		if hint, ok := unsupported[tk.Type]; ok {
			fail(tokenPlace(tk, name), "%s", hint)
		}
		if depth.after(tk) > maxDepth {
			fail(tokenPlace(tk, name), "is nested too deeply")
			return nil, problems
		}
	}
	var file *ast.File
	if err == nil && len(problems) == 0 {
		file, err = guard(func() (*ast.File, error) { return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) })
	}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		fail(tokenPlace(e.GetToken(), name), "is not valid YAML: %s", e.GetMessage()) // Error would quote the file
	} else if err != nil {
		fail(whole, "is not valid YAML")
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case body != nil:
			fail(placeOf(doc.Body, name), "a second document begins here (a file has one)")
		default:
			body = doc.Body
		}
	}
	if len(problems) > 0 {
		body = nil
	}
	return body, problems
}

// guard makes an error of a panic: earlier versions of the YAML package had some
// for malformed files.
func guard[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("config: the YAML package panicked")
		}
	}()
	return f()
}

// nesting counts open brackets, and lists that begin one after the other in a
// line. Sections need a line each, which is bound enough.
type nesting struct {
	brackets, dashes, line int
}

// after returns the depth after the next token.
func (n *nesting) after(tk *token.Token) int {
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		n.brackets++
	case token.SequenceEndType, token.MappingEndType:
		n.brackets--
	case token.SequenceEntryType:
		if tk.Position.Line != n.line {
			n.dashes, n.line = 0, tk.Position.Line
		}
		n.dashes++
	}
	return n.brackets + n.dashes
}

// What could make a small file large or is no setting.
var unsupported = map[token.Type]string{
	token.AnchorType:     "anchors are not supported (put what consumers share under defaults)",
	token.AliasType:      "aliases are not supported (put what consumers share under defaults)",
	token.MergeKeyType:   "merge keys are not supported (put what consumers share under defaults)",
	token.TagType:        "tags are not supported (remove it, or quote a text that begins with !)",
	token.DirectiveType:  "directives are not supported (remove it)",
	token.MappingKeyType: "keys with ? are not supported (write key: value)",
}

// invalid is the place of the first byte that is not UTF-8.
func invalid(data []byte, name string) Place {
	at := Place{Source: name, Line: 1, Column: 1}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		at.Column++
		if r == '\n' {
			at.Line, at.Column = at.Line+1, 1
		}
		data = data[size:]
	}
	return at
}
