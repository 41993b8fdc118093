package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// childEnv, when set, turns the program into a child with a task.
const childEnv = "IDEM_CRASH_CHILD"

// task is what a child has to do.
type task struct {
	Config   idem.Config
	DSN      string // marshalling hides them
	Password string
	Run      string
	Mode     idem.TransactionMode
	Broken   bool
	// Step is where it kills itself, when that was passed Nth times; "" never.
	Step idem.Step
	Nth  int32
}

// Child does the work of a child process, if this is one; main then ends with
// the code. Call it before anything else. Stdout is the parent's.
func Child(stdout, stderr io.Writer) (code int, isChild bool) {
	text := os.Getenv(childEnv)
	if text == "" {
		return 0, false
	}
	if err := child([]byte(text), stdout); err != nil {
		fmt.Fprintln(stderr, "crash: child:", err)
		return 1, true
	}
	return 0, true
}

func child(text []byte, stdout io.Writer) error {
	var t task
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	t.Config.Postgres.DSN, t.Config.Kafka.SASL.Password = idem.DSN(t.DSN), idem.Secret(t.Password)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the parent asks for an orderly end, or is gone
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var passed, done atomic.Int32
	step := func(_ context.Context, e idem.StepEvent) {
		if t.Step != "" && e.Step == t.Step && passed.Add(1) == t.Nth {
			kill()
		}
		if e.Step == idem.StepAcking {
			fmt.Fprintln(stdout, "acking", done.Add(1)) // tells the parent that there is progress
		}
	}
	p, err := assemble(ctx, t.Config, wiring.Options{Logger: slog.New(slog.DiscardHandler), Step: step})
	if err != nil {
		return err
	}
	defer p.close()
	if t.Broken {
		p.add = p.note
	}
	if err := register(p, names{t.Run}, t.Mode); err != nil {
		return err
	}
	go func() {
		select {
		case <-p.App.Running():
			fmt.Fprintln(stdout, running)
		case <-ctx.Done():
		}
	}()
	return p.App.Run(ctx)
}

// running is what a child says when it consumes.
const running = "running"

// kill ends this process as a power cut would, and does not return.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Errorf("crash: cannot kill myself: %w", err))
	}
	select {}
}

// process is a child as its parent sees it.
type process struct {
	cmd     *exec.Cmd
	in      io.Closer
	lines   chan string   // what it says; closed at its end
	running chan struct{} // closed when it consumes
	ended   chan struct{}
	err     error // after ended
}

// start starts a child with a task.
func (o Options) start(t task) (*process, error) {
	t.Config, t.DSN, t.Password = o.Config, string(o.Config.Postgres.DSN), string(o.Config.Kafka.SASL.Password)
	if o.through != "" {
		t.DSN = o.through
	}
	t.Mode, t.Broken = o.Transaction, o.broken
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	//nolint:gosec,noctx // it is this program; its end is the point
	cmd := exec.Command(o.Self[0], o.Self[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, in: in, lines: make(chan string, 10_000), running: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		s := bufio.NewScanner(out)
		for s.Scan() {
			if s.Text() == running {
				close(p.running)
				continue
			}
			select {
			case p.lines <- s.Text():
			default:
			}
		}
		close(p.lines)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// kill ends the child at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop asks the child to end.
func (p *process) stop() error {
	_ = p.in.Close()
	<-p.ended
	return p.err
}
