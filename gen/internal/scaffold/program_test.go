package scaffold_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tryProgram tries out what go test in the project does not: messages from
// files, and what the program says to those who use it wrongly.
func tryProgram(t *testing.T, dir string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	run(t, dir, "go", "build", "-tags", "sqlite", "-o", program, ".")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	work := t.TempDir() // without idem.yaml: on SQLite nothing has to be configured
	start := func(stdin string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Stdin = work, strings.NewReader(stdin)
		return cmd
	}
	for _, tt := range []struct {
		name, stdin string
		args        []string
		exit        int
		says        string
	}{
		{"help", "", []string{"-h"}, 0, "-sample"},
		{"flag", "", []string{"-x"}, 2, "flag provided but not defined: -x"},
		{"argument", "", []string{"x"}, 2, `unexpected argument "x"`},
		{"setting", "", []string{"-set", "nope=1"}, 2, "nope"},
		{"header", "", []string{"-header", "x"}, 2, "must be name=value"},
		{"transport that is not linked", "", []string{"-transport", "memory"}, 1, `links \"sqlite\" only`},
		{"file that is not there", "", []string{"-send", "nope.json"}, 1, "nope.json"},
		{"message", `{"pedido": "p1", "cliente": "bia", "centavos": 4500}`, []string{"-send", "-"}, 0, ""},
		{"message that is not one", `{"pedido": "p2", "cliente": "bia", "centavos": "many"}`, []string{"-send", "-", "-topic", "pedidos.v1", "-header", "a=b"}, 0, ""},
	} {
		cmd := start(tt.stdin, tt.args...)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != tt.exit || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: exit status %d, want %d and %q:\n%s", tt.name, got, tt.exit, tt.says, out)
		}
	}

	cmd := start("", "-set", "log.level=debug")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var done, invalid, told bool
	var log strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		done = done || strings.Contains(lines.Text(), "event_id=p1 ") && strings.Contains(lines.Text(), "outcome=done")
		invalid = invalid || strings.Contains(lines.Text(), "event_id=p2 ") && strings.Contains(lines.Text(), "outcome=dead_letter")
		if done && invalid && !told { // a second interrupt would kill it
			told = cmd.Process.Signal(os.Interrupt) == nil
		}
	}
	if err := cmd.Wait(); err != nil || !done || !invalid {
		t.Errorf("%v\n%s", err, &log)
	}
}
