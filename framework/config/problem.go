package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Problem is one thing that is wrong.
type Problem struct {
	Place
	// Path is the key, such as "consumers.charge.policy.timeout"; "" when the
	// problem is with the file, the variable or the flag as a whole.
	Path string
	// Message says what is wrong and how to fix it.
	Message string

	err error
}

// Problems is everything that is wrong, sorted by place: first the file, then
// the environment, then the flags.
type Problems []Problem

// Place is where a setting or a problem is.
type Place struct {
	// Source is the name of a file, a variable or a flag.
	Source string
	// Line and Column count from 1, Column in characters. 0 is none.
	Line, Column int

	rank rank
}

type rank int

const (
	fromFile rank = iota
	fromEnv
	fromFlags
)

// String is "idem.yaml:12:5", or the source alone.
func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
	}
	return p.Source
}

// Error is "idem.yaml:12:5: path: message", or the variable's or flag's name
// instead of the position.
func (p Problem) Error() string {
	if p.Path == "" {
		return fmt.Sprintf("%v: %s", p.Place, p.Message)
	}
	return fmt.Sprintf("%v: %s: %s", p.Place, p.Path, p.Message)
}

// Unwrap returns the error of the operating system, if that was the problem.
func (p Problem) Unwrap() error { return p.err }

// maxShown bounds the text of an error, not the problems it has.
const maxShown = 100

// Error is one line for each problem, as far as a reader will go.
func (p Problems) Error() string {
	shown := p[:min(len(p), maxShown)]
	lines := make([]string, len(shown))
	for i := range shown {
		lines[i] = shown[i].Error()
	}
	if more := len(p) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i := range p {
		errs[i] = p[i]
	}
	return errs
}

// parent is the path of the section that path is in.
func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

func byPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// fail notes a problem with the value at path, which therefore is not known.
func (l *loader) fail(at Place, path, format string, args ...any) {
	l.unknown[path] = true
	l.report(at, path, format, args...)
}

// report notes a problem.
func (l *loader) report(at Place, path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	l.problems = append(l.problems, Problem{Place: at, Path: short(path), Message: short(message)})
}

// short bounds what comes from outside: keys can be as long as the file.
func short(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
