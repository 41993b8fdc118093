package source

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/idem-go/idem/gen/internal/diag"
)

// yaml reads a YAML document; nil if it is none.
func (b *builder) yaml(text []byte) *Node {
	whole := diag.Pos{File: b.file.Name}
	if bytes.Count(text, []byte("\n")) > maxLines {
		b.fail(diag.TooBig, diag.Pos{File: b.file.Name, Line: maxLines + 1, Col: 1}, "split the file", "the file has more than %d lines", maxLines)
		return nil
	}
	tokens, err := guard(func() (token.Tokens, error) { return lexer.Tokenize(string(text)), nil })
	if err == nil && !b.withinBounds(tokens) {
		return nil
	}
	var file *ast.File
	if err == nil {
		file, err = guard(func() (*ast.File, error) { return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) })
	}
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		b.fail(diag.Syntax, b.tokenPos(syntax.GetToken()), "", "%s", firstLine(syntax.GetMessage()))
		return nil
	case err != nil:
		b.fail(diag.Syntax, whole, "", "the file is not valid YAML")
		return nil
	}
	y := &yamlReader{builder: b, anchors: map[string]anchor{}}
	var root *Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			b.fail(diag.Syntax, y.pos(doc.Body), "put it into a file of its own", "a second document begins here")
			return nil
		default:
			if root = y.value(doc.Body, "", 0); root == nil {
				return nil
			}
		}
	}
	if root == nil && !b.tooMany {
		b.fail(diag.Syntax, whole, "", "the file is empty")
	}
	return root
}

// guard makes an error of a panic in the YAML package.
func guard[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("source: the YAML package panicked")
		}
	}()
	return f()
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return clip(s)
}

// tokenPos is the place of a token. The YAML package counts a little wrong
// around tabs, blank lines and the end of the file.
func (b *builder) tokenPos(tk *token.Token) diag.Pos {
	at := diag.Pos{File: b.file.Name}
	if tk == nil || tk.Position == nil {
		return at
	}
	at.Line = min(max(tk.Position.Line, 1), len(b.file.Lines))
	line := b.file.Lines[at.Line-1]
	if b.counted != at.Line {
		b.counted, b.runes = at.Line, utf8.RuneCountInString(line)
	}
	at.Col = min(max(tk.Position.Column, 1), b.runes+1)
	if len(line) > 1000 || !strings.Contains(line, "\t") {
		return at
	}
	// What follows a tab is said to be at the tab.
	runes := []rune(line)
	for at.Col < len(runes) && (runes[at.Col-1] == '\t' || runes[at.Col-1] == ' ') {
		at.Col++
	}
	return at
}

// yamlReader turns the YAML package's nodes into ours.
type yamlReader struct {
	*builder
	anchors map[string]anchor
	deepest int // of the values since the last anchor began
}

// anchor is a value that aliases stand for, how many nodes it is made of and
// how deep it is: an alias counts as if it were written out.
type anchor struct {
	node         *Node
	size, height int
}

func (y *yamlReader) pos(n ast.Node) diag.Pos {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return y.pos(m.Values[0])
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return y.pos(m.Key)
	}
	return y.tokenPos(n.GetToken())
}

// value returns nil after reporting what is wrong.
func (y *yamlReader) value(n ast.Node, path string, depth int) *Node {
	at := y.pos(n)
	y.deepest = max(y.deepest, depth)
	switch n := n.(type) {
	case *ast.MappingNode:
		return y.object(n.Values, at, path, depth)
	case *ast.MappingValueNode:
		return y.object([]*ast.MappingValueNode{n}, at, path, depth)
	case *ast.SequenceNode:
		out := y.node(List, at, path, depth)
		if out == nil {
			return nil
		}
		for i, item := range n.Values {
			v := y.value(item, path+"/"+strconv.Itoa(i), depth+1)
			if v == nil {
				return nil
			}
			out.Items = append(out.Items, v)
		}
		return out
	case *ast.AnchorNode:
		nodes, deepest := y.set.nodes, y.deepest
		y.deepest = depth
		v := y.value(n.Value, path, depth)
		if v != nil {
			y.anchors[n.Name.GetToken().Value] = anchor{v, y.set.nodes - nodes, y.deepest - depth}
		}
		y.deepest = max(y.deepest, deepest)
		return v
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		a, ok := y.anchors[name]
		if !ok {
			y.fail(diag.Syntax, at, "", "alias %q has no anchor before it", clip(name))
			return nil
		}
		y.deepest = max(y.deepest, depth+a.height)
		if y.set.nodes += a.size; y.set.nodes > maxNodes || depth+a.height > maxDepth {
			y.full(at, depth+a.height)
			return nil
		}
		return a.node
	case *ast.NullNode:
		return y.scalar(Null, "null", at, path, depth)
	case *ast.BoolNode:
		return y.scalar(Bool, strconv.FormatBool(n.Value), at, path, depth)
	case *ast.IntegerNode:
		return y.integer(n.GetToken().Value, at, path, depth)
	case *ast.FloatNode:
		return y.float(n.GetToken().Value, at, path, depth)
	case *ast.StringNode:
		return y.plain(n, at, path, depth)
	case *ast.LiteralNode:
		return y.scalar(String, n.Value.Value, at, path, depth)
	case *ast.TagNode:
		y.fail(diag.Syntax, at, "remove it, or quote a text that begins with !", "YAML tags are not supported")
	case *ast.InfinityNode, *ast.NanNode:
		y.fail(diag.Syntax, at, "", "JSON has no such number")
	default:
		y.fail(diag.Syntax, at, "", "this kind of YAML value is not supported")
	}
	return nil
}

func (y *yamlReader) object(values []*ast.MappingValueNode, at diag.Pos, path string, depth int) *Node {
	out := y.node(Map, at, path, depth)
	if out == nil {
		return nil
	}
	seen := make(map[string]diag.Pos, len(values))
	for _, m := range values {
		if _, merge := m.Key.(*ast.MergeKeyNode); merge {
			y.fail(diag.Syntax, y.pos(m.Key), "use traits, allOf or $ref", "YAML merge keys are not supported")
			return nil
		}
		name, ok := y.name(m.Key)
		if !ok {
			return nil
		}
		nameAt := y.pos(m.Key)
		v := y.value(m.Value, path+"/"+Escape(name), depth+1)
		if v == nil {
			return nil
		}
		if first, ok := seen[name]; ok {
			y.duplicate(name, nameAt, first)
			continue
		}
		seen[name] = nameAt
		out.Fields = append(out.Fields, Field{Name: name, NamePos: nameAt, Value: v})
	}
	return out
}

// name is the text of a key: in JSON all keys are strings.
func (y *yamlReader) name(key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, true
	default:
		y.fail(diag.Syntax, y.pos(key), "write key: value", "this kind of key is not supported")
		return "", false
	}
}

func (y *yamlReader) scalar(kind Kind, text string, at diag.Pos, path string, depth int) *Node {
	n := y.node(kind, at, path, depth)
	if n != nil {
		n.Text = text
	}
	return n
}

// integer writes a YAML integer as JSON does: 0x1F is 31.
func (y *yamlReader) integer(text string, at diag.Pos, path string, depth int) *Node {
	var v *big.Int
	var ok bool
	if len(text) <= 1000 { // the time to convert grows faster than the number
		v, ok = new(big.Int).SetString(text, 0)
	}
	switch {
	case leadingZero(text):
		y.leadingZero(at)
		return nil
	case !ok || strings.Contains(text, "_"):
		y.fail(diag.Syntax, at, "quote it if it is text", "%q is not a number as JSON knows it", clip(text))
		return nil
	}
	return y.scalar(Int, v.String(), at, path, depth)
}

// leadingZero reports whether s could be meant as octal, or as text.
func leadingZero(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 1 && s[0] == '0' && strings.Trim(s, "0123456789_") == ""
}

func (y *yamlReader) leadingZero(at diag.Pos) {
	y.fail(diag.Syntax, at, "quote it if it is text, or drop the zeros", "a number must not begin with 0")
}

// float is also what the YAML package makes of integers beyond 64 bits.
func (y *yamlReader) float(text string, at diag.Pos, path string, depth int) *Node {
	if strings.Trim(text, "+-0123456789_") == "" {
		return y.integer(text, at, path, depth)
	}
	if !jsonNumber(text) {
		y.fail(diag.Syntax, at, "write it as 1.5 or 1e3", "%q is not a number as JSON knows it", clip(text))
		return nil
	}
	return y.scalar(Float, text, at, path, depth)
}

// plain is a string, unless it is a number in a notation that the YAML package
// does not know, such as 1e3, or looks like one.
func (y *yamlReader) plain(n *ast.StringNode, at diag.Pos, path string, depth int) *Node {
	if tk := n.GetToken(); tk.Type == token.StringType {
		switch {
		case jsonNumber(tk.Value):
			return y.float(tk.Value, at, path, depth)
		case leadingZero(tk.Value):
			y.leadingZero(at)
			return nil
		}
	}
	return y.scalar(String, n.Value, at, path, depth)
}

// jsonNumber reports whether s is a number of JSON (RFC 8259, section 6).
func jsonNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() bool {
		rest := strings.TrimLeft(s, "0123456789")
		ok := rest != s
		s = rest
		return ok
	}
	if zero := strings.HasPrefix(s, "0"); !digits() {
		return false
	} else if zero && s != "" && s[0] != '.' && s[0] != 'e' && s[0] != 'E' {
		return false
	}
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}
