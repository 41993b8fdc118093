// Command pedidos is the demo of idem: an orders service that survives
// duplicates, poison, an outage, a bug and (with -kill) a killed process, and
// proves it from its business tables.
//
//	go run ./examples/pedidos                      one SQLite file, nothing to install
//	go run ./examples/pedidos -transport postgres  IDEM_POSTGRES_DSN=postgres://…
//	go run ./examples/pedidos -transport kafka     IDEM_KAFKA_BROKERS=localhost:9092
//
// The exit status is 0 only if every expectation held.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/framework/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // an expectation failed, or the run was interrupted
	exitUsage  = 2 // the demo could not be set up
)

// flags are the command line.
type flags struct {
	shared  *config.Flags
	events  int
	seed    uint64
	timeout time.Duration
	json    bool
	kill    bool
	verbose bool
}

func parse(args []string, stderr io.Writer) (flags, error) {
	fs := flag.NewFlagSet("pedidos", flag.ContinueOnError)
	fs.SetOutput(stderr)
	f := flags{shared: config.Bind(fs)}
	fs.IntVar(&f.events, "n", 300, fmt.Sprintf("number of good orders, at least %d", demo.MinEvents))
	fs.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	fs.DurationVar(&f.timeout, "timeout", 0, "end a run that does not come to its end (default 25s, more for many orders)")
	fs.BoolVar(&f.json, "json", false, "print one JSON object at the end and nothing else")
	fs.BoolVar(&f.kill, "kill", false, "run the instances as processes and SIGKILL one half-way")
	fs.BoolVar(&f.verbose, "v", false, "show the framework's log")
	err := fs.Parse(args)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("pedidos: unexpected argument %q", fs.Arg(0))
		fmt.Fprintln(stderr, err)
	}
	return f, err
}

// run is main without the process; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil: // the flag set has told
		return exitUsage
	}
	log := slog.New(slog.DiscardHandler)
	if f.verbose {
		log = slog.New(slog.NewTextHandler(stderr, nil))
	}
	if child, ok := childFromEnv(); ok {
		return child.work(ctx, f.shared, log, stderr)
	}
	dir, err := os.MkdirTemp("", "pedidos-")
	if err != nil {
		fmt.Fprintln(stderr, "pedidos:", err)
		return exitUsage
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o, err := f.options(dir)
	if err != nil {
		fmt.Fprintln(stderr, "pedidos:", err)
		return exitUsage
	}
	o.Logger, o.Progress = log, stdout
	if f.json {
		o.Progress = io.Discard
	}
	if f.kill {
		o.Spawn = spawner(args, dir, stderr)
	}
	result, err := demo.Main(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "pedidos: interrupted before it began")
		return exitFailed
	case err != nil:
		fmt.Fprintln(stderr, "pedidos:", err)
		return exitUsage
	case f.json:
		err = result.WriteJSON(stdout)
	default:
		err = result.WriteTable(stdout)
	}
	if err != nil || !result.OK {
		return exitFailed
	}
	return exitOK
}

// options checks what was asked for; SQLite's file goes into dir.
func (f flags) options(dir string) (demo.Options, error) {
	switch {
	case f.events < demo.MinEvents:
		return demo.Options{}, fmt.Errorf("-n must be at least %d, is %d", demo.MinEvents, f.events)
	case f.timeout < 0:
		return demo.Options{}, fmt.Errorf("-timeout must not be negative, is %v", f.timeout)
	}
	cfg, err := load(f.shared)
	switch {
	case err != nil:
		return demo.Options{}, err
	case f.kill && cfg.Transport == "memory":
		return demo.Options{}, errors.New("-kill needs a transport that outlives a process: -transport sqlite, postgres or kafka")
	}
	return demo.Options{
		Config: forDemo(cfg, dir), Build: build(), Events: f.events, Seed: f.seed, Timeout: f.timeout,
	}, nil
}
