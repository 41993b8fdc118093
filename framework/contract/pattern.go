package contract

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used.
// Make one with [NewPattern]; it is safe for concurrent use.
type Pattern struct{ compiled func() *regexp.Regexp }

// NewPattern returns the pattern of an expression of RE2. The first use panics
// if it is none, which the generator rules out.
func NewPattern(expression string) Pattern {
	return Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// Match reports whether the pattern matches any part of s.
func (p Pattern) Match(s string) bool { return p.compiled().MatchString(s) }
