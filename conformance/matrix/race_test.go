package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
)

const childRacers = 32

// A key that 64 goroutines of two processes deliver at one instant takes
// effect once, and nobody acks before that effect is committed.
func TestRaceOfTwoProcesses(t *testing.T) {
	on(t, []string{"sqlite", "postgres"}, func(t *testing.T, w *world) {
		p := w.app(t)
		must(t, p.Store.Migrate(t.Context()))
		for round := range 3 {
			raceOnce(t, w, fmt.Sprint(round))
		}
		p.wantOnce("0", "1", "2")
	})
}

func raceOnce(t *testing.T, w *world, id string) {
	t.Helper()
	var children []*child
	for range 2 {
		c := w.spawn(t, "race", id)
		c.expect("ready")
		children = append(children, c)
	}
	for _, c := range children { // the starting gun
		must(t, c.in.Close())
	}
	ran, early := 0, 0
	for _, c := range children {
		for c.out.Scan() {
			var r raceResult
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

type raceResult struct{ Ran, Acked, Early int }

// race delivers one message to many goroutines, through the whole chain, as
// a broker that delivers many copies would.
func race(ctx context.Context, task childTask) error {
	w := task.world()
	w.cfg.Postgres.MaxConns = 2 * childRacers
	p, closeAll, err := assemble(ctx, w.cfg, wiring.Options{})
	if err != nil {
		return err
	}
	defer closeAll()
	engine, err := idem.NewEngine(p.Store, nil, idem.Classifier{}, nil)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var r raceResult
	op := idem.Operation{Name: "race", Topic: "race", Key: idem.KeyFrom(idem.FromPayload("/id")), Concurrency: childRacers}
	c, err := idem.NewConsumer(engine, op, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
		mu.Lock()
		r.Ran++
		mu.Unlock()
		return p.effect(ctx, m.Payload.ID)
	}))
	if err != nil {
		return err
	}
	chain, err := middleware.Chain(middleware.Options{})(c)
	if err != nil {
		return err
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
				msg := message.NewMessage("", fmt.Appendf(nil, `{"id":%q}`, task.ID))
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
				if err != nil || got[task.ID] == 0 {
					r.Early++
				}
				return
			}
		})
	}
	wg.Wait()
	return json.NewEncoder(os.Stdout).Encode(r)
}
