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

// Each kind of problem has a test that provokes it: its code is in a golden
// file or in a table of a test. Codes are never written in tests otherwise.
func TestEveryCodeHasACase(t *testing.T) {
	cases := map[string]bool{}
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
	for found := range cases {
		if !known[found] {
			t.Errorf("a test expects %s, which is no code", found)
		}
	}
}
