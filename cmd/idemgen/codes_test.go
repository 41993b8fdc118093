package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idem-go/idem/gen"
)

// code is one in what a test expects.
var code = regexp.MustCompile(`\bIDEM[0-9]{3}\b`)

var (
	constant    = regexp.MustCompile(`\bdiag\.([A-Z][A-Za-z0-9]*)\b`)
	declaration = regexp.MustCompile(`(?m)^\t([A-Z][A-Za-z0-9]*) +Code = "(IDEM[0-9]{3})"`)
)

// Each kind of problem has a test that provokes it: its code is in a golden
// file, or it or its constant is in a table of a test.
func TestEveryCodeHasACase(t *testing.T) {
	constants := codeConstants(t)
	cases, golden := map[string]bool{}, map[string]bool{}
	for _, top := range []string{".", "../../gen"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if !strings.HasSuffix(path, "_test.go") && !strings.Contains(filepath.ToSlash(path), "testdata/") {
				return nil
			}
			text, err := os.ReadFile(path)
			for _, found := range code.FindAllString(string(text), -1) {
				cases[found] = true
				golden[found] = golden[found] || !strings.HasSuffix(path, "_test.go")
			}
			for _, found := range constant.FindAllStringSubmatch(string(text), -1) {
				cases[constants[found[1]]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]bool{}
	for _, info := range gen.Codes() {
		known[string(info.Code)] = true
		if !cases[string(info.Code)] {
			t.Errorf("%s has no case: %s", info.Code, info.Title)
		}
	}
	for found, is := range golden {
		if is && !known[found] {
			t.Errorf("a golden file has %s, which is no code", found)
		}
	}
}

// codeConstants returns the codes by the names of their constants.
func codeConstants(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../gen/internal/diag/codes*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = m[2]
		}
	}
	if len(out) == 0 {
		t.Fatal("no constants: the test looks at the wrong files")
	}
	return out
}
