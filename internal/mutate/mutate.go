// Package mutate breaks the library on purpose, for tests that must notice: a
// test that passes with a broken engine proves nothing. The files themselves
// are not touched; the go command is given others in their place.
//
//	overlay := mutate.Engine(t)
//	go test -c -overlay=<overlay> -o <binary> <package>     once
//	<mutate.Env(m)> <binary> -test.run …                    for each of mutate.Mutations
package mutate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Edit replaces a text that is in a file exactly once.
type Edit struct {
	// File is relative to the module's root, with slashes.
	File string
	// Old is replaced by New.
	Old, New string
}

// Overlay writes a file for the go command's -overlay flag, with the edits made.
// It fails the test when a text is missing: the code has changed, and the
// edit would change nothing.
func Overlay(t testing.TB, edits ...Edit) string {
	t.Helper()
	return overlay(t, nil, edits)
}

// overlay also adds files that are not there.
func overlay(t testing.TB, add map[string]string, edits []Edit) string {
	t.Helper()
	root := moduleRoot(t)
	text := map[string]string{}
	for file, content := range add {
		text[file] = content
	}
	for _, e := range edits {
		content, ok := text[e.File]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				t.Fatalf("mutate: %v", err)
			}
			content = string(b)
		}
		if n := strings.Count(content, e.Old); n != 1 {
			t.Fatalf("mutate: %s has the text %d times, not once: adapt the mutation to the code\n%s", e.File, n, e.Old)
		}
		text[e.File] = strings.Replace(content, e.Old, e.New, 1)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for file, content := range text {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		write(t, to, []byte(content))
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	write(t, path, b)
	return path
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// moduleRoot is the folder of go.mod above the test's.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("mutate: no go.mod above the test's folder")
		}
		dir = up
	}
}
