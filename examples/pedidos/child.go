package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/framework/config"
)

// childEnv hands a consumer instance that runs as a process of its own its task.
const childEnv = "IDEM_PEDIDOS_WORKER"

type child struct {
	Worker string
	Run    demo.Run
	Dir    string
}

func childFromEnv() (child, bool) {
	var c child
	text, ok := os.LookupEnv(childEnv)
	return c, ok && json.Unmarshal([]byte(text), &c) == nil
}

// work runs the instance until the parent closes its standard input, by
// intention or by dying: a child never stays behind.
func (c child) work(ctx context.Context, shared *config.Flags, log *slog.Logger, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	cfg, err := load(shared)
	if err == nil {
		err = demo.Work(ctx, c.Worker, c.Run, forDemo(cfg, c.Dir), builder(), log)
	}
	if err != nil {
		fmt.Fprintf(stderr, "pedidos: %s: %v\n", c.Worker, err)
		return 1
	}
	return 0
}

// spawner starts instances with this program's own executable and flags.
func spawner(args []string, dir string, stderr io.Writer) demo.Spawn {
	return func(worker string, run demo.Run) (demo.Process, error) {
		task, err := json.Marshal(child{Worker: worker, Run: run, Dir: dir})
		if err != nil {
			return nil, err
		}
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), childEnv+"="+string(task))
		cmd.Stderr = stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return &process{cmd: cmd, stdin: stdin}, nil
	}
}

type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	killed bool
}

// stopWithin is how long a child may drain before it is killed after all.
const stopWithin = 35 * time.Second

// Stop implements demo.Process.
func (p *process) Stop() error {
	if p.killed {
		return nil
	}
	_ = p.stdin.Close() // the child takes it as the order to drain
	timer := time.AfterFunc(stopWithin, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	return p.cmd.Wait()
}

// Kill implements demo.Process.
func (p *process) Kill() error {
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // says that it was killed, which is what we wanted
	return nil
}
