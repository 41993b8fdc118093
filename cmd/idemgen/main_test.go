package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write what is printed into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(checked{m}, map[string]func(){"idemgen": main})
}

// checked runs the tests and then looks for goroutines that they have left.
type checked struct{ *testing.M }

func (c checked) Run() int {
	code := c.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// The scripts begin in a project with the files of testdata/base, but for
// those that they bring themselves.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Condition: func(cond string) (bool, error) {
			if cond != "root" {
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			return os.Geteuid() == 0, nil
		},
		Setup: func(e *testscript.Env) error { return copyMissing("testdata/base", e.WorkDir) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"edit":     edit,
			"exits":    exits,
			"snapshot": snapshot,
			"same":     same,
		},
	})
}

// copyMissing copies the files of a folder that are not in the other one.
func copyMissing(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimSuffix(rel, ".txt"))
		if _, err := os.Stat(target); err == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}

// edit FILE OLD NEW replaces text, which must be there.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, unescape(args[1])) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, unescape(args[1]), unescape(args[2]), 1)), 0o600))
}

// exits STATUS COMMAND... runs a command that must end with the status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// snapshot NAME [FILE...] remembers bytes and times of the files in the
// project, or of those that are or are below the given ones.
func snapshot(ts *testscript.TestScript, _ bool, args []string) {
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, path := range files(ts, args[1:]) {
		ts.Check(os.Chtimes(path, old, old))
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("TMPDIR"), args[0]), state(ts, args[1:]), 0o600))
}

// same NAME [FILE...] compares with what snapshot has remembered.
func same(ts *testscript.TestScript, neg bool, args []string) {
	want, err := os.ReadFile(filepath.Join(ts.Getenv("TMPDIR"), args[0]))
	ts.Check(err)
	if got := state(ts, args[1:]); bytes.Equal(got, want) == neg {
		ts.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func state(ts *testscript.TestScript, only []string) []byte {
	var b bytes.Buffer
	for _, path := range files(ts, only) {
		info, err := os.Lstat(path)
		ts.Check(err)
		text, err := os.ReadFile(path)
		ts.Check(err)
		fmt.Fprintf(&b, "%s %v %v %x\n", path, info.Mode(), info.ModTime(), sha256.Sum256(text))
	}
	return b.Bytes()
}

func files(ts *testscript.TestScript, only []string) []string {
	if len(only) == 0 {
		only = []string{"."}
	}
	var out []string
	for _, name := range only {
		top := ts.MkAbs(name)
		ts.Check(filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && path == ts.Getenv("TMPDIR") {
				return fs.SkipDir
			}
			if err == nil && d.Type().IsRegular() {
				out = append(out, path)
			}
			return err
		}))
	}
	return out
}
