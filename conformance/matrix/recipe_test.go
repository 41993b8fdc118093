package matrix

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
)

// The key was the id, which took different amounts for the same event; now it
// is both.
var (
	coarse = idem.KeyFrom(idem.FromPayload("/id"))
	fine   = idem.KeyRecipe{
		Version: 2, Parts: []idem.KeyPart{idem.FromPayload("/id"), idem.FromPayload("/amount")},
		Previous: []idem.KeyRecipe{coarse},
	}
)

// version starts a program with this recipe.
func (w *world) version(t *testing.T, recipe idem.KeyRecipe, handle func(p *proc) idem.HandlerFunc[event]) *proc {
	t.Helper()
	op := w.operation("billing")
	op.Key = recipe
	return w.process(t, op, handle).start()
}

func amounts(p *proc) idem.HandlerFunc[event] {
	return func(ctx context.Context, m idem.Message[event]) error {
		return p.effect(ctx, fmt.Sprint(m.Payload.Amount))
	}
}

// Attempts are counted on, and the key that the handler sees stays, when a
// program with another recipe goes on. What it gives up is replayed.
func TestFailedUnderTheOldRecipe(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var seen []string
		fails := true
		h := func(wait time.Duration) func(p *proc) idem.HandlerFunc[event] {
			return func(p *proc) idem.HandlerFunc[event] {
				return func(ctx context.Context, m idem.Message[event]) error {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, fmt.Sprint(m.Key, " ", m.Attempt))
					if !fails {
						return p.effect(ctx, m.Payload.ID)
					}
					return idem.Transient(idem.RetryAfter(errBlip, wait))
				}
			}
		}
		p := w.version(t, coarse, h(time.Second))
		p.publishRaw("1", []byte(`{"id":"1","amount":10}`))
		p.awaitCount("retry", 1, func() int { return p.count(idem.Retry) })
		must(t, p.stop())
		p = w.version(t, fine, h(20*time.Millisecond))
		p.awaitDead(1)
		d := p.dead()[0]
		mu.Lock()
		fails = false
		if last := seen[len(seen)-1]; last != "1 5" || d.Key != "1" || d.Attempts != 5 {
			t.Errorf("the handler saw %v, parked under %q after %d attempts; want 5 of key 1", seen, d.Key, d.Attempts)
		}
		mu.Unlock()
		must(t, p.DeadLetters.Replay(t.Context(), d.ID, deadletter.ReplayOptions{}))
		p.awaitEffects("1")
		p.publishRaw("1", []byte(`{"id":"1","amount":10}`))
		p.awaitCount("duplicate", 1, func() int { return p.count(idem.Duplicate) })
		p.wantOnce("1")
	})
}

// Copies of one message meet at the same moment in programs of both recipes:
// one of them runs. Whichever of its keys comes first in the index.
func TestRaceOfTwoRecipes(t *testing.T) {
	on(t, []string{"memory", "sqlite", "postgres"}, func(t *testing.T, w *world) {
		p := w.app(t)
		must(t, p.Store.Migrate(t.Context()))
		engine, err := idem.NewEngine(p.Store, nil, idem.Classifier{}, nil)
		must(t, err)
		var runs tally
		var programs []message.HandlerFunc
		for _, recipe := range []idem.KeyRecipe{coarse, fine} {
			op := w.operation("billing")
			op.Key = recipe
			c, err := idem.NewConsumer(engine, op, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
				id := fmt.Sprint(m.Payload.Amount)
				run, leave := runs.enter(id)
				defer leave()
				if err := p.effect(ctx, id); err != nil || run > 1 {
					return err
				}
				return errBlip // the next one wins, with either recipe
			}))
			must(t, err)
			chain, err := middleware.Chain(middleware.Options{})(c)
			must(t, err)
			handle := func(*message.Message) ([]*message.Message, error) { return nil, nil }
			for i := len(chain) - 1; i >= 0; i-- {
				handle = chain[i](handle)
			}
			programs = append(programs, handle)
		}
		var all []string
		for round := range 6 {
			all = append(all, fmt.Sprint(round))
			id := fmt.Sprint([]string{"a", "z"}[round%2], round) // sorts before and after "v2:…"
			gun := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 12 {
				wg.Go(func() {
					<-gun
					for { // a nacked copy is delivered again
						msg := message.NewMessage("", fmt.Appendf(nil, `{"id":%q,"amount":%d}`, id, round))
						_, _ = programs[i%2](msg)
						select {
						case <-msg.Acked():
							return
						default:
						}
					}
				})
			}
			close(gun)
			wg.Wait()
		}
		p.wantOnce(all...)
		runs.wantApart(t)
		runs.wantRuns(t, 2, all...)
		p.wantNoDead()
	})
}

// doubtful is a third party that takes the order, and whose answer is lost.
type doubtful struct {
	p      *proc
	mu     sync.Mutex
	orders []string // keys of the calls
	asked  []string // keys of the questions
}

func (d *doubtful) Call(_ context.Context, m idem.Message[event]) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders = append(d.orders, m.Key)
	return "", errors.New("no answer")
}

func (d *doubtful) Apply(ctx context.Context, m idem.Message[event], _ string) error {
	return d.p.effect(ctx, m.Payload.ID)
}

// asking is doubtful, but can be asked.
type asking struct{ *doubtful }

func (a asking) Reconcile(_ context.Context, m idem.Message[event]) (string, idem.CallOutcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, m.Key)
	return "", idem.CallApplied, nil
}

// A call that was made under the old recipe is asked for, under the key that
// the third party knows, and not made again.
func TestCallBegunUnderTheOldRecipe(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		third := &doubtful{}
		op := w.operation("billing")
		op.Key, op.Policy.Backoff = coarse, idem.Backoff{Base: time.Hour, Max: time.Hour}
		op.Policy.MaxAttempts = 50
		p := w.app(t)
		third.p = p
		must(t, idem.RegisterExternal[event, string](p.App, op, third))
		p.start().publishRaw("1", []byte(`{"id":"1","amount":10}`))
		p.awaitCount("retry", 1, func() int { return p.count(idem.Retry) })
		must(t, p.stop())

		op.Key = fine
		p = w.app(t)
		third.p = p
		must(t, idem.RegisterExternal[event, string](p.App, op, asking{third}))
		p.start().publishRaw("another", []byte(`{"id":"1","amount":10}`))
		p.awaitEffects("1")
		third.mu.Lock()
		defer third.mu.Unlock()
		if len(third.orders) != 1 || len(third.asked) == 0 || third.asked[0] != third.orders[0] {
			t.Errorf("calls under keys %q, questions under %q; want one call and the same key", third.orders, third.asked)
		}
		p.wantNoDead()
	})
}
