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
	"path/filepath"
	"syscall"
	"time"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/framework/config"
	"github.com/idem-go/idem/framework/idem"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process: exit status 0 if all is well, 1 if an
// expectation failed, 2 if the demo could not be set up.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("pedidos", flag.ContinueOnError)
	fs.SetOutput(stderr)
	shared := config.Bind(fs)
	events := fs.Int("n", 300, "number of good orders, at least 10")
	seed := fs.Uint64("seed", 1, "seed of everything random")
	asJSON := fs.Bool("json", false, "print one JSON object at the end and nothing else")
	kill := fs.Bool("kill", false, "run the consumers as processes and SIGKILL one half-way")
	verbose := fs.Bool("v", false, "show the framework's log")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	log := slog.New(slog.DiscardHandler)
	if *verbose {
		log = slog.New(slog.NewTextHandler(stderr, nil))
	}
	if child, ok := childFromEnv(); ok {
		return child.work(ctx, shared, log, stderr)
	}
	if *events < 10 {
		fmt.Fprintf(stderr, "pedidos: -n must be at least 10, is %d\n", *events)
		return 2
	}
	cfg, err := load(shared)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	dir, err := os.MkdirTemp("", "pedidos-")
	if err != nil {
		fmt.Fprintln(stderr, "pedidos:", err)
		return 2
	}
	defer os.RemoveAll(dir)
	cfg = forDemo(cfg, dir)
	o := demo.Options{
		Config: cfg, Build: builder(), Events: *events, Seed: *seed, Progress: stdout, Logger: log,
	}
	if *asJSON {
		o.Progress = io.Discard
	}
	if *kill {
		if cfg.Transport == "memory" {
			fmt.Fprintln(stderr, "pedidos: -kill needs a transport that outlives a process: -transport sqlite, postgres or kafka")
			return 2
		}
		o.Spawn = spawner(args, dir, stderr)
	}
	result, err := demo.Main(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, "pedidos:", err)
		return 2
	}
	if *asJSON {
		err = result.WriteJSON(stdout)
	} else {
		err = result.WriteTable(stdout)
	}
	if err != nil || !result.OK {
		return 1
	}
	return 0
}

// load reads the configuration; a program built for one transport needs no
// word about it.
func load(shared *config.Flags) (idem.Config, error) {
	src := shared.Source()
	if tagged != "" {
		src.Overrides = append([]string{"transport=" + tagged}, src.Overrides...)
	}
	return config.Load(src)
}

// forDemo completes a configuration: always a throw-away SQLite file, and short
// leases, so that the work of a killed instance is taken over while somebody
// is watching.
func forDemo(cfg idem.Config, dir string) idem.Config {
	cfg.SQLite.Path = filepath.Join(dir, "pedidos.db")
	cfg.Queue.Lease, cfg.Outbox.Lease = 2*time.Second, 2*time.Second
	if cfg.Transport == "kafka" {
		cfg.Kafka.SessionTimeout = 6 * time.Second // brokers take no less as they come
	}
	if cfg.Postgres.MaxConns == 0 {
		cfg.Postgres.MaxConns = 12
	}
	return cfg
}
