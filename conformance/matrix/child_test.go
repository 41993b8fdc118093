package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// childEnv, when set, turns this test binary into a child process with a task.
const childEnv = "IDEM_CONFORMANCE_CHILD"

// childTask is a world and what a child has to do in it.
type childTask struct {
	Job                    string
	Topic, Transport, Path string
	Store, DSN             string
	Brokers                []string
	ID                     string
}

// jobs are what a child can do. What they print is for the parent.
var jobs = map[string]func(context.Context, childTask) error{
	"race":          race,
	"consume":       consumeUntilKilled,
	"call outwards": callUntilKilled,
	"hold":          holdUntilTold,
}

// runChild does the work of a child process, if this is one.
func runChild() {
	env := os.Getenv(childEnv)
	if env == "" {
		return
	}
	var task childTask
	err := json.Unmarshal([]byte(env), &task)
	if err == nil {
		err = jobs[task.Job](context.Background(), task)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (k childTask) world() *world {
	w := &world{topic: k.Topic, cfg: idem.Config{Transport: k.Transport, Store: k.Store}, build: assemble}
	w.cfg.SQLite.Path, w.cfg.Postgres.DSN, w.cfg.Kafka.Brokers = k.Path, idem.DSN(k.DSN), k.Brokers
	w.quicken()
	return w
}

// child is a process that can be killed.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Scanner
}

// spawn starts a child on this world.
func (w *world) spawn(t *testing.T, job, id string) *child {
	t.Helper()
	task, err := json.Marshal(childTask{
		Job: job, ID: id, Topic: w.topic, Transport: w.cfg.Transport, Store: w.cfg.Store,
		Path: w.cfg.SQLite.Path, DSN: string(w.cfg.Postgres.DSN), Brokers: w.cfg.Kafka.Brokers,
	})
	must(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(task))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return &child{t, cmd, in, bufio.NewScanner(out)}
}

// expect reads lines until the given one comes.
func (c *child) expect(line string) {
	c.t.Helper()
	late := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	for c.out.Scan() {
		if c.out.Text() == line {
			return
		}
	}
	c.t.Fatalf("the child ended without saying %q", line)
}

// kill ends the child as a power cut would.
func (c *child) kill() {
	c.t.Helper()
	must(c.t, c.cmd.Process.Kill())
	for c.out.Scan() { // Wait wants everything read
	}
	_ = c.cmd.Wait() // says that it was killed
}
