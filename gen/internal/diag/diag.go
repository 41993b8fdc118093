// Package diag holds what idemgen has to say about a contract: problems with a
// stable code, a place and a way out.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Line and Col count from 1 and, of text, in
// characters; 0 means unknown. File is relative to the project's root, with
// slashes.
type Pos struct {
	File string
	Line int
	Col  int
}

func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

// Compare orders places by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Problem is one thing that is wrong.
type Problem struct {
	Code Code
	Pos  Pos
	// Message says what is wrong, in one line, without a full stop.
	Message string
	// Fix says what to do about it, in one line; "" if the message says it all.
	Fix string
	// Related are other places that have to do with it, such as the first of
	// two definitions.
	Related []Related
}

// Related is another place that a problem is about.
type Related struct {
	Pos  Pos
	Note string
}

// String is the problem in one line: file:line:col: IDEMnnn: message (fix).
func (p Problem) String() string {
	var b strings.Builder
	if at := p.Pos.String(); at != "" {
		b.WriteString(at + ": ")
	}
	fmt.Fprintf(&b, "%s: %s", p.Code, p.Message)
	if p.Fix != "" {
		fmt.Fprintf(&b, " (%s)", p.Fix)
	}
	return b.String()
}

// maxProblems bounds a list: a contract with more is wrong as a whole.
const maxProblems = 500

// List collects problems. The zero value is empty; not for concurrent use.
type List struct {
	problems []Problem
	dropped  int
}

// Add adds a problem; the same one at the same place is kept once.
func (l *List) Add(p Problem) {
	if slices.ContainsFunc(l.problems, func(q Problem) bool {
		return q.Code == p.Code && q.Pos == p.Pos && q.Message == p.Message
	}) {
		return
	}
	if len(l.problems) >= maxProblems {
		l.dropped++
		return
	}
	l.problems = append(l.problems, p)
}

// Addf adds a problem without related places.
func (l *List) Addf(code Code, at Pos, fix, format string, args ...any) {
	l.Add(Problem{Code: code, Pos: at, Fix: fix, Message: fmt.Sprintf(format, args...)})
}

// Len returns the number of problems, with those that were too many to keep.
func (l *List) Len() int { return len(l.problems) + l.dropped }

// Sorted returns the problems by place. If there were too many the last one
// says so.
func (l *List) Sorted() []Problem {
	out := slices.Clone(l.problems)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Code, b.Code))
	})
	if l.dropped > 0 {
		out = append(out, Problem{Code: TooMany, Message: fmt.Sprintf("%d more problems are not shown", l.dropped), Fix: "mend these first"})
	}
	return out
}
