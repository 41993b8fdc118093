package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/diag"
)

// builder turns the text of one file into nodes.
type builder struct {
	set     *Set
	file    *File
	tooMany bool

	counted, runes int // a line, from 1, and how many characters it has
}

func (b *builder) fail(code diag.Code, at diag.Pos, fix, format string, args ...any) {
	b.set.problems.Addf(code, at, fix, format, args...)
}

// node makes a node, or returns nil beyond the limits after reporting once.
func (b *builder) node(kind Kind, at diag.Pos, path string, depth int) *Node {
	if b.tooMany {
		return nil
	}
	b.set.nodes++
	b.set.paths += len(path)
	if b.set.nodes > maxNodes || depth > maxDepth || b.set.paths > maxPathBytes {
		b.full(at, depth)
		return nil
	}
	return &Node{Kind: kind, Pos: at, File: b.file, Path: path}
}

// full reports that a limit is reached.
func (b *builder) full(at diag.Pos, depth int) {
	b.tooMany = true
	what := "the contract has too many values"
	if depth > maxDepth {
		what = "the file is nested too deeply"
	}
	b.fail(diag.TooBig, at, "", "%s", what)
}

// clip keeps a text from the file short in a message.
func clip(s string) string {
	const most = 60
	if n := 0; len(s) > most {
		for i := range s {
			if n++; n > most {
				return s[:i] + "…"
			}
		}
	}
	return s
}

// json reads a JSON document; nil if it is none.
func (b *builder) json(text []byte) *Node {
	p := &jsonParser{builder: b, dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1, col: 1}
	p.dec.UseNumber()
	root, err := p.value("", 0)
	if end := p.dec.InputOffset(); err == nil {
		if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
			b.fail(diag.Syntax, p.pos(int64(len(text)-len(rest))), "", "there is more text after the JSON value")
			return nil
		}
	}
	var syntax *json.SyntaxError
	switch {
	case b.tooMany:
		return nil
	case errors.As(err, &syntax):
		b.fail(diag.Syntax, p.pos(max(syntax.Offset-1, 0)), "", "%s", strings.TrimPrefix(syntax.Error(), "json: "))
		return nil
	case err != nil:
		b.fail(diag.Syntax, p.pos(int64(len(text))), "", "the JSON value ends too early")
		return nil
	}
	return root
}

type jsonParser struct {
	*builder
	dec  *json.Decoder
	text []byte

	// The place up to which lines and columns were counted.
	offset    int64
	line, col int
}

// pos is the place of a byte; called with growing offsets.
func (p *jsonParser) pos(offset int64) diag.Pos {
	for offset = min(offset, int64(len(p.text))); p.offset < offset; p.offset++ {
		switch c := p.text[p.offset]; {
		case c == '\n':
			p.line, p.col = p.line+1, 1
		case utf8.RuneStart(c):
			p.col++
		}
	}
	return diag.Pos{File: p.file.Name, Line: p.line, Col: p.col}
}

// next is the place of the value or name that comes next.
func (p *jsonParser) next() diag.Pos {
	offset := p.dec.InputOffset()
	for int(offset) < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,:"), p.text[offset]) >= 0 {
		offset++
	}
	return p.pos(offset)
}

func (p *jsonParser) value(path string, depth int) (*Node, error) {
	at := p.next()
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return p.object(at, path, depth)
		}
		return p.array(at, path, depth)
	case nil:
		return p.scalar(Null, "null", at, path, depth)
	case bool:
		return p.scalar(Bool, map[bool]string{true: "true", false: "false"}[v], at, path, depth)
	case json.Number:
		kind := Int
		if strings.ContainsAny(v.String(), ".eE") {
			kind = Float
		}
		return p.scalar(kind, v.String(), at, path, depth)
	default:
		return p.scalar(String, token.(string), at, path, depth)
	}
}

var errLimit = errors.New("beyond the limits")

func (p *jsonParser) scalar(kind Kind, text string, at diag.Pos, path string, depth int) (*Node, error) {
	n := p.node(kind, at, path, depth)
	if n == nil {
		return nil, errLimit
	}
	n.Text = text
	return n, nil
}

func (p *jsonParser) object(at diag.Pos, path string, depth int) (*Node, error) {
	n := p.node(Map, at, path, depth)
	if n == nil {
		return nil, errLimit
	}
	seen := map[string]diag.Pos{}
	for p.dec.More() {
		nameAt := p.next()
		token, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string)
		v, err := p.value(path+"/"+Escape(name), depth+1)
		if err != nil {
			return nil, err
		}
		if first, ok := seen[name]; ok {
			p.duplicate(name, nameAt, first)
			continue
		}
		seen[name] = nameAt
		n.Fields = append(n.Fields, Field{Name: name, NamePos: nameAt, Value: v})
	}
	_, err := p.dec.Token()
	return n, err
}

func (b *builder) duplicate(name string, at, first diag.Pos) {
	b.set.problems.Add(diag.Problem{
		Code: diag.DuplicateKey, Pos: at, Message: fmt.Sprintf("key %q is written twice in one object", clip(name)), Fix: "remove one",
		Related: []diag.Related{{Pos: first, Note: "first here"}},
	})
}

func (p *jsonParser) array(at diag.Pos, path string, depth int) (*Node, error) {
	n := p.node(List, at, path, depth)
	if n == nil {
		return nil, errLimit
	}
	for p.dec.More() {
		v, err := p.value(path+"/"+strconv.Itoa(len(n.Items)), depth+1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, v)
	}
	_, err := p.dec.Token()
	return n, err
}
