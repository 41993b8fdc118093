// Package source reads the files of a contract, YAML or JSON, into nodes that
// know where they stand, and follows references between them.
package source

import (
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Kind is the kind of a node.
type Kind int

// The kinds of node.
const (
	Null Kind = iota
	Bool
	Int   // a number written without fraction and exponent
	Float // any other number
	String
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"null", "boolean", "integer", "number", "string", "list", "object"}[k]
}

// Node is a value of a file. It is read-only once loaded. One node may be
// reached by several ways (YAML aliases), never by itself.
type Node struct {
	Kind Kind
	// Text is a scalar's value: what a string says, a number as it is written
	// in JSON, true or false.
	Text string
	// Fields are those of a map, in order; names are unique.
	Fields []Field
	// Items are those of a list.
	Items []*Node
	Pos   diag.Pos
	// File is the document that the node is part of.
	File *File
	// Path is the JSON pointer of the node in its file.
	Path string
}

// Field is a member of a map.
type Field struct {
	Name    string
	NamePos diag.Pos
	Value   *Node
}

// File is a parsed document.
type File struct {
	// Name is relative to the root folder, with slashes.
	Name string
	Root *Node
	// Lines of the file, for excerpts.
	Lines []string
}

// Get returns the member of a map, or nil. It is nil for other kinds and for a
// nil node.
func (n *Node) Get(name string) *Node {
	if f := n.Field(name); f != nil {
		return f.Value
	}
	return nil
}

// Field returns the member of a map with the place of its name, or nil.
func (n *Node) Field(name string) *Field {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i]
		}
	}
	return nil
}

// Source is where the node stands, for the line "// source: " of generated
// code: asyncapi.yaml#/operations/faturar.
func (n *Node) Source() string { return n.File.Name + "#" + n.Path }

// at follows a JSON pointer (RFC 6901) from the node.
func (n *Node) at(pointer string) (*Node, bool) {
	if pointer == "" {
		return n, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch {
		case n.Kind == Map:
			n = n.Get(token)
		case n.Kind == List:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil, false
			}
			n = n.Items[i]
		default:
			n = nil
		}
		if n == nil {
			return nil, false
		}
	}
	return n, true
}

// Escape writes a name as a token of a JSON pointer.
func Escape(name string) string { return escaper.Replace(name) }

var escaper = strings.NewReplacer("~", "~0", "/", "~1")
