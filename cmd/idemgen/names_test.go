package main

import (
	"fmt"
	"go/build"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idem-go/idem/gen"
)

// namesContract has an operation of each name, and messages that begin with it.
func namesContract(names []string) string {
	var ops, messages, uses strings.Builder
	for i, n := range names {
		fmt.Fprintf(&ops, "  %q:\n    action: receive\n    channel: {$ref: '#/channels/c%d'}\n    x-idempotency: {scope: s%[2]d, key: $message.payload#/type}\n", n, i)
		fmt.Fprintf(&uses, "  c%d: {address: c%[1]d, messages: {m: {$ref: '#/components/messages/m%[1]d'}}}\n", i)
		fmt.Fprintf(&messages, "    m%d:\n      name: \"%[2]s.x\"\n      payload: {type: object, required: [type], properties: {type: {type: string}, 'x_%[2]s': {type: integer}}}\n", i, n)
	}
	return "asyncapi: 3.0.0\ninfo: {title: Names, version: '1'}\nchannels:\n" + uses.String() + "operations:\n" + ops.String() +
		"components:\n  messages:\n" + messages.String()
}

// A file is built on every system and in every program, whatever the operation
// that it is about is called: names such as x_test.go and x_linux.go mean
// something to Go.
func TestFilesOfAnyNameAreBuilt(t *testing.T) {
	names := []string{"fazer_test", "x_linux", "copiar_amd64", "plan9", "init", "main", "world", "doc", "type", "func",
		"a.b-c", "error", "string", "context", "Idem", "fixture", "gold_gen", "wire", "wire_gen", "CON", "nul"}
	dir := newProject(t, namesContract(names))
	report, err := gen.Generate(options(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Error(p)
	}
	alien := build.Default
	alien.GOOS, alien.GOARCH, alien.CgoEnabled = "illumos", "riscv64", false
	built, lower := 0, map[string]bool{}
	for _, change := range report.Changes {
		path := strings.TrimPrefix(change, "A ")
		if lower[strings.ToLower(path)] {
			t.Errorf("%s is there twice on a disk that ignores case", path)
		}
		lower[strings.ToLower(path)] = true
		base := strings.TrimSuffix(filepath.Base(path), ".go")
		if reserved := strings.ToUpper(base); reserved == "CON" || reserved == "NUL" {
			t.Errorf("%s is a device on Windows", path)
		}
		folder, name := filepath.Split(path)
		if filepath.Ext(name) != ".go" || folder == "" || name == "wire.go" && strings.HasPrefix(folder, "wiring") {
			continue
		}
		ok, err := alien.MatchFile(filepath.Join(dir, folder), name)
		if err != nil || !ok {
			t.Errorf("%s is not built: %v", path, err)
		}
		if folder == "handlers/" && !strings.HasSuffix(name, "_test.go") {
			built++
		}
	}
	if built < len(names) {
		t.Errorf("%d files of handlers for %d operations", built, len(names))
	}
}
