package gen

import (
	"io"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Problem is one thing that is wrong, with its place and a way out.
type Problem = diag.Problem

// Report is what a run has found and done.
type Report struct {
	// Problems are what is wrong with the contract or the tree, by place.
	Problems []Problem
	// Warnings stop nothing.
	Warnings []Problem
	// Changes are the files that are changed, or would be, each after a letter
	// and a space: A added, M modified, D deleted. Relative to the project's root.
	Changes []string
	// Diff is what Check has found, as a unified diff.
	Diff []byte

	prefix string              // from the working directory to the project's root
	lines  map[string][]string // of the files that have problems
}

// OK reports whether everything is as it should be.
func (r *Report) OK() bool { return len(r.Problems) == 0 && len(r.Diff) == 0 }

// Formats are the formats that a report can be written in.
func Formats() []string { return diag.Formats() }

// Write writes problems and warnings in one of the Formats: for people, for
// programs, or as annotations of a GitHub workflow.
func (r *Report) Write(w io.Writer, format string) error {
	return diag.Output{Problems: r.Problems, Warnings: r.Warnings, Lines: func(file string) []string { return r.lines[file] }}.Write(w, format)
}

// Code is a kind of problem with its title.
type Code = diag.Info

// Codes returns every kind of problem, by code.
func Codes() []Code { return diag.Codes() }
