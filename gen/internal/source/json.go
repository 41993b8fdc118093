package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
	if b.set.nodes > maxNodes || depth > maxDepth {
		b.tooMany = true
		what := "the contract has too many values"
		if depth > maxDepth {
			what = "the file is nested too deeply"
		}
		b.fail(diag.TooBig, at, "", "%s", what)
		return nil
	}
	return &Node{Kind: kind, Pos: at, File: b.file, Path: path}
}

// json reads a JSON document; nil if it is none.
func (b *builder) json(text []byte) *Node {
	p := &jsonParser{builder: b, dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
	p.dec.UseNumber()
	root, err := p.value("", 0)
	if err == nil {
		if _, err = p.dec.Token(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			b.fail(diag.Syntax, p.pos(p.dec.InputOffset()), "", "there is more text after the JSON value")
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

	// The place up to which lines were counted.
	offset int64
	line   int
	start  int64 // of the line
}

// pos is the place of a byte; called with growing offsets.
func (p *jsonParser) pos(offset int64) diag.Pos {
	offset = min(offset, int64(len(p.text)))
	for ; p.offset < offset; p.offset++ {
		if p.text[p.offset] == '\n' {
			p.line++
			p.start = p.offset + 1
		}
	}
	col := 1
	if offset > p.start {
		col += utf8.RuneCount(p.text[p.start:offset])
	}
	return diag.Pos{File: p.file.Name, Line: p.line, Col: col}
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
		Code: diag.DuplicateKey, Pos: at, Message: "key \"" + name + "\" is written twice in one object", Fix: "remove one",
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
