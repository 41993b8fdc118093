package matrix

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// quicken lets the world notice soon that a process is dead.
func (w *world) quicken() {
	w.cfg.Queue.Lease = time.Second
	w.cfg.Kafka.SessionTimeout = 2 * time.Second
}

// A process is killed in the middle of its work, with handlers running and
// messages in hand: the next one loses nothing and doubles nothing.
func TestKilledProcess(t *testing.T) {
	on(t, withSQL, func(t *testing.T, w *world) {
		w.quicken()
		p := w.process(t, w.operation("billing"), func(p *proc) idem.HandlerFunc[event] {
			return func(ctx context.Context, m idem.Message[event]) error { return p.effect(ctx, m.Payload.ID) }
		})
		must(t, p.Store.Migrate(t.Context()))
		must(t, p.Transport.EnsureTopics(t.Context(), w.topic, w.operation("billing").RetryTopic(), w.topic+".dlq"))
		all := ids(60)
		p.publish(all...)
		c := w.spawn(t, "consume", "")
		c.expect("in the middle")
		if w.cfg.Transport == "kafka" {
			time.Sleep(800 * time.Millisecond) // until the offsets of what ended are committed
		}
		c.kill()
		p.start()
		p.awaitEffects(all...)
		p.wantNoDead()
	})
}

// consumeUntilKilled handles messages, half of them at the second attempt.
// The twentieth run and the next two never end: their effects are written and
// not committed. The others go on.
func consumeUntilKilled(ctx context.Context, task childTask) error {
	w := task.world()
	p, closeAll, err := assemble(ctx, w.cfg, wiring.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer closeAll()
	var runs tally
	var begun atomic.Int32
	var middle sync.Once
	err = idem.Register(p.App, w.operation("billing"), idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
		run, leave := runs.enter(m.Payload.ID)
		defer leave()
		if err := p.effect(ctx, m.Payload.ID); err != nil {
			return err
		}
		if n := begun.Add(1); n >= 20 && n <= 22 {
			middle.Do(func() { fmt.Println("in the middle") })
			select {}
		}
		if run == 1 && m.Payload.ID[0]%2 == 0 {
			return errBlip
		}
		return nil
	}))
	if err != nil {
		return err
	}
	return p.App.Run(ctx)
}

// bank is a third party: what it is asked to charge stays charged, whoever
// asked and whatever became of them.
type bank struct {
	effect  func(context.Context, string) error
	charged func(key string) bool // before this process began
	mu      sync.Mutex
	calls   []string
	asked   []string
}

type receipt struct{ Number string }

func (b *bank) Call(_ context.Context, m idem.Message[event]) (receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, m.Key)
	return receipt{m.Key}, nil
}

func (b *bank) Reconcile(_ context.Context, m idem.Message[event]) (receipt, idem.CallOutcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, m.Key)
	if b.charged(m.Key) {
		return receipt{m.Key}, idem.CallApplied, nil
	}
	return receipt{}, idem.CallNotApplied, nil
}

func (b *bank) Apply(ctx context.Context, _ idem.Message[event], r receipt) error {
	return b.effect(ctx, r.Number)
}

// A process is killed while a third party works for it: the next one waits
// for the intent's lease, asks, and calls again only what surely never was.
func TestKilledDuringAnExternalCall(t *testing.T) {
	t.Parallel() // it waits for a time-out
	on(t, []string{"sqlite", "postgres"}, func(t *testing.T, w *world) {
		w.quicken()
		p := w.app(t)
		must(t, p.Store.Migrate(t.Context()))
		b := &bank{effect: p.effect, charged: func(key string) bool { return key == "0" }}
		op := externalOperation(w)
		must(t, idem.RegisterExternal[event, receipt](p.App, op, b))
		p.publish("0", "1")
		c := w.spawn(t, "call outwards", "")
		c.expect("both calls are out")
		c.kill()
		p.start()
		p.awaitEffects("0", "1")
		b.mu.Lock()
		defer b.mu.Unlock()
		slices.Sort(b.asked)
		if !slices.Equal(b.asked, []string{"0", "1"}) || !slices.Equal(b.calls, []string{"1"}) {
			t.Errorf("asked about %v and called %v, want 0 and 1 asked and only 1, which was not charged, called", b.asked, b.calls)
		}
		p.wantNoDead()
	})
}

func externalOperation(w *world) idem.Operation {
	op := w.operation("charge")
	op.Policy.Timeout = time.Second // the intent's lease is as long and a little more
	return op
}

// callUntilKilled calls a third party that never answers.
func callUntilKilled(ctx context.Context, task childTask) error {
	w := task.world()
	p, closeAll, err := assemble(ctx, w.cfg, wiring.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer closeAll()
	op := externalOperation(w)
	silent := &silence{}
	silent.both.Add(2)
	go func() {
		silent.both.Wait()
		_, _ = os.Stdout.WriteString("both calls are out\n")
	}()
	if err := idem.RegisterExternal[event, receipt](p.App, op, silent); err != nil {
		return err
	}
	return p.App.Run(ctx)
}

type silence struct{ both sync.WaitGroup }

func (s *silence) Call(context.Context, idem.Message[event]) (receipt, error) {
	s.both.Done()
	select {}
}

func (s *silence) Apply(context.Context, idem.Message[event], receipt) error { return nil }

// holdUntilTold handles messages and holds the first one, its effect written
// and not committed, until the parent closes the input.
func holdUntilTold(ctx context.Context, task childTask) error {
	w := task.world()
	p, closeAll, err := assemble(ctx, w.cfg, wiring.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer closeAll()
	var once sync.Once
	err = idem.Register(p.App, w.operation("billing"), idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
		err := p.effect(ctx, m.Payload.ID)
		once.Do(func() {
			fmt.Println("in hand")
			_, _ = io.Copy(io.Discard, os.Stdin)
		})
		return err
	}))
	if err != nil {
		return err
	}
	return p.App.Run(ctx)
}
