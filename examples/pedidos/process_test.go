package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// An instance that dies ends the run at once, with its reason.
func TestDeadInstance(t *testing.T) {
	args := onSQLite.args(t, "-kill")
	for _, tc := range []struct {
		name  string
		spawn demo.Spawn
		want  string
	}{
		{"killed by somebody else", func(name string, run demo.Run) (demo.Process, error) {
			p, err := spawner(args, t.TempDir(), io.Discard)(name, run)
			if err == nil && name == "instance-2" {
				err = p.Kill()
			}
			return p, err
		}, "instance-2 ended by itself: signal: killed"},
		{"cannot work", func(name string, run demo.Run) (demo.Process, error) {
			return spawner([]string{"-nonsense"}, t.TempDir(), io.Discard)(name, run)
		}, "ended by itself: exit status 2"},
		{"cannot be started", func(string, demo.Run) (demo.Process, error) {
			return nil, errors.New("no more processes")
		}, "start instance-1: no more processes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := inMemory(t)
			o.Spawn, o.Timeout = tc.spawn, time.Minute
			begin := time.Now()
			r, err := demo.Main(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.OK || !strings.Contains(r.Error, tc.want) {
				t.Errorf("want error %q, got %+v", tc.want, r)
			}
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// Ctrl-C ends a run soon, with status 1, and leaves nothing behind: the checks
// of the backend see to that.
func TestInterrupt(t *testing.T) {
	for _, tc := range []struct {
		name string
		b    backend
		more []string
	}{
		{"sqlite", onSQLite, nil},
		{"postgres with processes", onPostgres, []string{"-kill"}},
		{"kafka", onKafkaSQLite, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := tc.b.args(t, tc.more...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var interrupted time.Time
			stdout := output{text: "everything is published", then: func() {
				interrupted = time.Now()
				cancel()
			}}
			if code := run(ctx, args, &stdout, io.Discard); code != exitFailed {
				t.Errorf("exit status %d", code)
			}
			if out := stdout.String(); !strings.Contains(out, "✗ interrupted before the end") || strings.Contains(out, "SCENARIO") {
				t.Errorf("stdout:\n%s", out)
			}
			if d := time.Since(interrupted); d > 15*time.Second {
				t.Errorf("took %v to end", d)
			}
		})
	}
}

// A run that is interrupted before it began says so, too.
func TestInterruptAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr output
	if code := run(ctx, onSQLite.args(t), io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit status %d, stderr: %s", code, stderr.String())
	}
}

// And one that is interrupted while it is set up removes what it has made.
func TestInterruptedSetUp(t *testing.T) {
	f, err := parse(onPostgres.args(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.options(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	build := o.Build
	o.Build = func(ctx context.Context, cfg idem.Config, wo wiring.Options, in handlers.Input) (*demo.Assembled, func(), error) {
		cancel()
		return build(ctx, cfg, wo, in)
	}
	o.Progress, o.Logger = io.Discard, slog.New(slog.DiscardHandler)
	if _, err := demo.Main(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The children of a program that was killed end by themselves. They hold its
// standard error, which is at its end only when they are.
func TestKilledProgram(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, onSQLite.args(t, "-kill")...)
	cmd.Env = append(os.Environ(), asMain+"=1", "TMPDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "everything is published") {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stderr)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("children still run")
	}
	_ = cmd.Wait() // it was killed
}
