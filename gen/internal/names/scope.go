package names

import (
	"cmp"
	"maps"
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Scope finds names of a contract that would be one Go identifier. The zero
// value is empty.
type Scope struct{ claims map[string][]claim }

type claim struct {
	pos  diag.Pos
	what string
}

// Claim notes that what, written at pos, becomes the identifier. A claim without
// a place is idemgen's own.
func (s *Scope) Claim(identifier, what string, pos diag.Pos) {
	if s.claims == nil {
		s.claims = map[string][]claim{}
	}
	c := claim{pos, what}
	if !slices.Contains(s.claims[identifier], c) {
		s.claims[identifier] = append(s.claims[identifier], c)
	}
}

// Report reports each identifier that is claimed by several. The result does not
// depend on the order of the claims.
func (s *Scope) Report(problems *diag.List) {
	for _, identifier := range slices.Sorted(maps.Keys(s.claims)) {
		all := s.claims[identifier]
		if len(all) < 2 {
			continue
		}
		slices.SortFunc(all, func(a, b claim) int { return cmp.Or(a.pos.Compare(b.pos), cmp.Compare(a.what, b.what)) })
		first, last := all[0], all[len(all)-1]
		p := diag.Problem{Code: diag.NameClash, Pos: last.pos, Fix: "rename one of them"}
		if first.pos == (diag.Pos{}) {
			p.Code, p.Fix = diag.NameTaken, "rename it"
			p.Message = last.what + " would be called " + identifier + " in Go, as is " + first.what
		} else {
			p.Message = first.what + " and " + last.what + " would both be called " + identifier + " in Go"
			p.Related = []diag.Related{{Pos: first.pos, Note: "the other one is here"}}
		}
		problems.Add(p)
	}
}
