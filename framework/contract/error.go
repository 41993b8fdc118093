package contract

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is a rule that a value breaks.
type Problem struct {
	// Pointer is the JSON pointer of the value; "" is the whole. Names from
	// the payload are shortened if they are long, and escaped if unprintable.
	Pointer string
	// Rule is what the value must be.
	Rule string
}

// Error lists what is wrong with a payload, or with a value to send. It holds
// no values.
type Error struct {
	// Problems is never empty; of very many the first are kept.
	Problems []Problem
	// More is how many problems there are beside Problems.
	More int

	undecodable bool
}

// Undecodable reports whether the payload does not even have the type, as
// opposed to a value of the type that breaks a rule.
func (e *Error) Undecodable() bool { return e.undecodable }

// Error implements error, in one line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		if p.Pointer != "" {
			b.WriteString(p.Pointer + ": ")
		}
		b.WriteString(p.Rule)
	}
	if e.More > 0 {
		b.WriteString("; and " + strconv.Itoa(e.More) + " more")
	}
	return b.String()
}

// maxName is how much of a name goes into a pointer.
const maxName = 64

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// segment writes a name as part of a JSON pointer.
func segment(name string) string {
	if len(name) > maxName {
		cut := maxName
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	if quoted := strconv.Quote(name); len(quoted) != len(name)+2 { // not as it is
		name = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	return "/" + escapePointer.Replace(name)
}
