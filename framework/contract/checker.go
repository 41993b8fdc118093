package contract

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
)

// Checker collects the rules that a value breaks. The zero value is ready; it
// is for one goroutine.
type Checker struct {
	problems []Problem
	more     int
}

// maxProblems bounds what a hostile payload can make us write.
const maxProblems = 20

// Err returns what was found as an *[Error], sorted by place, or nil.
func (c *Checker) Err() error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return &Error{Problems: c.problems, More: c.more}
}

func (c *Checker) add(p Problem) {
	if len(c.problems) >= maxProblems {
		c.more++
		return
	}
	c.problems = append(c.problems, p)
}

// Self is the place of the value itself.
func (c *Checker) Self() Place { return Place{checker: c, index: -1} }

// At is the place of a member.
func (c *Checker) At(name string) Place { return Place{checker: c, name: name, index: -1, below: true} }

// Place is a place in a value that is checked.
type Place struct {
	checker *Checker
	up      *Place
	name    string
	index   int
	below   bool // it is a member or element, not the value itself
}

// Index is the place of an element.
func (p *Place) Index(i int) Place { return Place{checker: p.checker, up: p, index: i, below: true} }

// Key is the place of a member whose name is the payload's.
func (p *Place) Key(name string) Place {
	return Place{checker: p.checker, up: p, name: name, index: -1, below: true}
}

// Check reports the rule as broken unless ok.
func (p Place) Check(ok bool, rule string) {
	if !ok {
		p.checker.add(Problem{Pointer: p.pointer(), Rule: rule})
	}
}

// Missing reports that a value must be there.
func (p Place) Missing() { p.Check(false, "must be there") }

// Nested takes over what Validate of the value at the place returned.
func (p Place) Nested(err error) {
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		p.Check(false, err.Error())
		return
	}
	at := p.pointer()
	for _, q := range e.Problems {
		p.checker.add(Problem{Pointer: at + q.Pointer, Rule: q.Rule})
	}
	p.checker.more += e.More
}

func (p *Place) pointer() string {
	s := ""
	if p.up != nil {
		s = p.up.pointer()
	}
	switch {
	case !p.below:
		return s
	case p.index >= 0:
		return s + "/" + strconv.Itoa(p.index)
	default:
		return s + segment(p.name)
	}
}
