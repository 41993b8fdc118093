package source

import (
	"github.com/goccy/go-yaml/token"

	"github.com/idem-go/idem/gen/internal/diag"
)

// What keeps the YAML package quick and small: its time grows with the square
// of the members of one object, it recurses into brackets, and each of its
// nodes holds the names of all that it is in.
const (
	maxLines   = 100_000
	maxTokens  = 300_000
	maxMembers = 10_000
)

// bounds follows the tokens of a file to see how deep they would nest.
type bounds struct {
	// The open block objects by column, and the open brackets.
	blocks   map[int]block
	brackets []int // bytes of the name of each
	name     int   // bytes of the last name inside brackets
	path     int   // bytes of the names of all that are open
	paths    int   // sum of path over all tokens

	dashes, dashLine int
}

type block struct{ members, name int }

// withinBounds checks what would keep the parser busy for long.
func (b *builder) withinBounds(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		b.fail(diag.TooBig, b.tokenPos(tokens[maxTokens]), "split the file", "the file has too many values")
		return false
	}
	s := &bounds{blocks: map[int]block{}}
	for i, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			s.brackets = append(s.brackets, s.name)
			s.path, s.name = s.path+s.name, 0
		case token.SequenceEndType, token.MappingEndType:
			if n := len(s.brackets); n > 0 {
				s.path -= s.brackets[n-1]
				s.brackets = s.brackets[:n-1]
			}
			s.name = 0
		case token.SequenceEntryType:
			if tk.Position.Line != s.dashLine {
				s.dashes, s.dashLine = 0, tk.Position.Line
			}
			s.dashes++
		case token.MappingValueType:
			switch {
			case i == 0:
			case len(s.brackets) > 0:
				s.name = len(tokens[i-1].Value)
			case s.member(tokens[i-1]) > maxMembers:
				b.fail(diag.TooBig, b.tokenPos(tk), "split it", "the object has more than %d members", maxMembers)
				return false
			}
		}
		if len(s.brackets)+s.dashes > maxDepth || len(s.blocks) > maxDepth {
			b.fail(diag.TooBig, b.tokenPos(tk), "", "the file is nested too deeply")
			return false
		}
		if s.paths += s.path + s.name; s.paths > maxPathBytes {
			b.fail(diag.TooBig, b.tokenPos(tk), "use shorter names", "the file has too many values below long names")
			return false
		}
	}
	return true
}

// member notes the name of a member of a block object, which closes those
// further to the right, and returns how many the object has.
func (s *bounds) member(name *token.Token) int {
	col := name.Position.Column
	for c, open := range s.blocks {
		if c > col {
			s.path -= open.name
			delete(s.blocks, c)
		}
	}
	open := s.blocks[col]
	s.path += len(name.Value) - open.name
	open.members, open.name = open.members+1, len(name.Value)
	s.blocks[col] = open
	return open.members
}
