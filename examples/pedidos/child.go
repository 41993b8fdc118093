package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/framework/config"
)

// childEnv hands an instance that runs as a process of its own its task.
const childEnv = "IDEM_PEDIDOS_WORKER"

type child struct {
	Name string
	Run  demo.Run
	Dir  string
}

func childFromEnv() (child, bool) {
	var c child
	text, ok := os.LookupEnv(childEnv)
	return c, ok && json.Unmarshal([]byte(text), &c) == nil
}

// work runs the instance until the parent closes its standard input, by
// intention or by dying: a child never stays behind.
func (c child) work(ctx context.Context, shared *config.Flags, log *slog.Logger, stderr io.Writer) int {
	signal.Ignore(os.Interrupt) // Ctrl-C is the parent's, which then closes the input
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	cfg, err := load(shared)
	if err == nil {
		err = demo.Work(ctx, c.Name, c.Run, forDemo(cfg, c.Dir), build(), log)
	}
	if err != nil {
		fmt.Fprintf(stderr, "pedidos: %s: %v\n", c.Name, err)
		return 1
	}
	return 0
}

// spawner starts instances with this program's own executable and flags.
func spawner(args []string, dir string, stderr io.Writer) demo.Spawn {
	return func(name string, run demo.Run) (demo.Process, error) {
		task, err := json.Marshal(child{Name: name, Run: run, Dir: dir})
		if err != nil {
			return nil, err
		}
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(exe, args...) //nolint:noctx // it outlives an interrupted run, to drain
		cmd.Env = append(os.Environ(), childEnv+"="+string(task))
		cmd.Stderr = stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return process{cmd, stdin}, nil
	}
}

// process is an instance in a process of its own; see demo.Process.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func (p process) Wait() error { return p.cmd.Wait() }
func (p process) Drain()      { _ = p.stdin.Close() }
func (p process) Kill() error { return p.cmd.Process.Kill() }
