package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// file reads the file; false means that its content is not known.
func (l *loader) file(path string) bool {
	name := path
	if name == "" {
		name = DefaultPath
	}
	l.origins[""] = Place{Source: name}
	data, err := read(name)
	switch {
	case path == "" && errors.Is(err, fs.ErrNotExist):
		l.origins[""] = Place{Source: "configuration"}
		return true
	case errors.Is(err, fs.ErrNotExist):
		l.problems = append(l.problems, Problem{Place: Place{Source: name}, Message: "does not exist", err: err})
		return false
	case err != nil:
		l.problems = append(l.problems, Problem{Place: Place{Source: name}, Message: "cannot be read: " + cause(err), err: err})
		return false
	}
	body, problems := parse(data, name)
	l.problems = append(l.problems, problems...)
	if body != nil {
		l.document(body, name)
	}
	return len(problems) == 0
}

func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// cause leaves out the file's name, which the problem has already.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

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
	defer func() {
		if recover() != nil { // the parser has bugs, and a file must not end the process
			body = nil
			fail(whole, "is not valid YAML")
		}
	}()
	tokens := lexer.Tokenize(string(data))
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
	if len(problems) > 0 {
		return nil, problems
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if e, ok := errors.AsType[yaml.Error](err); ok {
			fail(tokenPlace(e.GetToken(), name), "is not valid YAML: %s", e.GetMessage()) // Error would quote the file
		} else {
			fail(whole, "is not valid YAML")
		}
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
