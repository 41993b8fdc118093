package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
	pgwiring "github.com/idem-go/idem/wiring/postgres"
	sqlitewiring "github.com/idem-go/idem/wiring/sqlite"
)

var deadletterNoOptions = deadletter.ReplayOptions{}

const (
	childEnv    = "IDEM_CONFORMANCE_CHILD"
	childRacers = 32
)

// A key that 64 goroutines of two processes deliver at one instant takes
// effect once, and nobody acks before that effect is committed.
func TestRaceOfTwoProcesses(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			w := worlds[name](t)
			p, closeAll := w.build(t, w.cfg, wiring.Options{})
			defer closeAll()
			must(t, p.Store.Migrate(t.Context()))
			for round := range 3 {
				raceOnce(t, w, fmt.Sprint(round))
			}
			got, err := p.effects(t.Context())
			must(t, err)
			if len(got) != 3 || got["0"] != 1 || got["1"] != 1 || got["2"] != 1 {
				t.Errorf("effects %v, want one of each round", got)
			}
		})
	}
}

func raceOnce(t *testing.T, w *world, id string) {
	t.Helper()
	task, err := json.Marshal(childTask{Transport: w.cfg.Transport, Path: w.cfg.SQLite.Path, DSN: string(w.cfg.Postgres.DSN), ID: id})
	must(t, err)
	type child struct {
		cmd *exec.Cmd
		out *bufio.Scanner
		in  interface{ Close() error }
	}
	var children []child
	for range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(task))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		c := child{cmd, bufio.NewScanner(out), in}
		if !c.out.Scan() || c.out.Text() != "ready" {
			t.Fatalf("child said %q", c.out.Text())
		}
		children = append(children, c)
	}
	for _, c := range children { // the starting gun
		must(t, c.in.Close())
	}
	ran, early := 0, 0
	for _, c := range children {
		for c.out.Scan() {
			var r childResult
			must(t, json.Unmarshal(c.out.Bytes(), &r))
			ran, early = ran+r.Ran, early+r.Early
			if r.Acked != childRacers {
				t.Errorf("%d of %d racers acked", r.Acked, childRacers)
			}
		}
		must(t, c.cmd.Wait())
	}
	if ran != 1 || early != 0 {
		t.Errorf("round %s: handler ran %d times, %d acks before the commit; want 1 and 0", id, ran, early)
	}
}

type childTask struct{ Transport, Path, DSN, ID string }

type childResult struct{ Ran, Acked, Early int }

// runChild does the work of a racing process, if this is one.
func runChild() {
	env := os.Getenv(childEnv)
	if env == "" {
		return
	}
	result, err := race(env)
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
	os.Exit(0)
}

func race(env string) (r childResult, err error) {
	var task childTask
	if err := json.Unmarshal([]byte(env), &task); err != nil {
		return r, err
	}
	ctx := context.Background()
	cfg := idem.Config{Transport: task.Transport, Store: task.Transport}
	var p parts
	switch task.Transport {
	case "sqlite":
		cfg.SQLite.Path = task.Path
		built, closeAll, err := sqlitewiring.Build(ctx, cfg, wiring.Options{})
		if err != nil {
			return r, err
		}
		defer closeAll()
		p = sqlParts(built.Parts, built.DB)
	default:
		cfg.Postgres.DSN, cfg.Postgres.MaxConns = idem.DSN(task.DSN), 2*childRacers
		built, closeAll, err := pgwiring.Build(ctx, cfg, wiring.Options{})
		if err != nil {
			return r, err
		}
		defer closeAll()
		p = pgParts(built.Parts, built.Pool)
	}
	return p.race(ctx, task.ID)
}

// race delivers one message to many goroutines, through the whole chain, as
// a broker that delivers many copies would.
func (p parts) race(ctx context.Context, id string) (r childResult, err error) {
	engine, err := idem.NewEngine(p.Store, nil, idem.Classifier{}, nil)
	if err != nil {
		return r, err
	}
	var mu sync.Mutex
	op := idem.Operation{Name: "race", Topic: "race", Key: idem.KeyFrom(idem.FromPayload("/id")), Concurrency: childRacers}
	c, err := idem.NewConsumer(engine, op, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
		mu.Lock()
		r.Ran++
		mu.Unlock()
		return p.effect(ctx, m.Payload.ID)
	}))
	if err != nil {
		return r, err
	}
	chain, err := middleware.Chain(middleware.Options{})(c)
	if err != nil {
		return r, err
	}
	handle := func(*message.Message) ([]*message.Message, error) { return nil, nil }
	for i := len(chain) - 1; i >= 0; i-- {
		handle = chain[i](handle)
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString(0) // until the parent closes it
	var wg sync.WaitGroup
	for range childRacers {
		wg.Go(func() {
			for { // a nacked copy is delivered again
				msg := message.NewMessage("", fmt.Appendf(nil, `{"id":%q}`, id))
				_, _ = handle(msg)
				select {
				case <-msg.Acked():
				default:
					continue
				}
				got, err := p.effects(ctx)
				mu.Lock()
				defer mu.Unlock()
				r.Acked++
				if err != nil || got[id] == 0 {
					r.Early++
				}
				return
			}
		})
	}
	wg.Wait()
	return r, nil
}
