package contract

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
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

// Check reports the rule as broken unless ok. The path leads to the value:
// names of members and indexes of elements, as string and int.
func (c *Checker) Check(ok bool, rule string, path ...any) {
	if !ok {
		c.add(Problem{Pointer: pointer(path), Rule: rule})
	}
}

// Nested takes over what Validate of the value at the path returned.
func (c *Checker) Nested(err error, path ...any) {
	if err == nil {
		return
	}
	at := pointer(path)
	var e *Error
	if !errors.As(err, &e) {
		c.add(Problem{Pointer: at, Rule: err.Error()})
		return
	}
	for _, p := range e.Problems {
		c.add(Problem{Pointer: at + p.Pointer, Rule: p.Rule})
	}
	c.more += e.More
}

func pointer(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			b.WriteString("/" + strconv.Itoa(step))
		case string:
			b.WriteString(segment(step))
		}
	}
	return b.String()
}
