package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
)

// The key was the id, which took different amounts for the same event; now it is
// both.
func coarse() idem.KeyRecipe { return idem.KeyFrom(idem.FromPayload("/id")) }

func fine() idem.KeyRecipe {
	return idem.KeyRecipe{
		Version: 2, Parts: []idem.KeyPart{idem.FromPayload("/id"), idem.FromPayload("/amount")},
		Previous: []idem.KeyRecipe{coarse()},
	}
}

// withRecipe is the case's consumer with another recipe.
func withRecipe(w *World, recipe idem.KeyRecipe) idem.Operation {
	op := w.Operation("billing")
	op.Key = recipe
	return op
}

func addAmount(a *App) idem.HandlerFunc[Event] {
	return func(ctx context.Context, m idem.Message[Event]) error {
		return a.Effects.Add(ctx, fmt.Sprint(m.Payload.Amount))
	}
}

func dupAcrossRecipes(w *World) {
	one, two := []byte(`{"id":"1","amount":10}`), []byte(`{"id":"1","amount":20}`)
	other := []byte(`{"id":"2","amount":30}`)
	a := w.Consumer(withRecipe(w, coarse()), addAmount).Start()
	a.PublishRaw("1", one)
	a.AwaitEffects("10")
	w.Must(a.Stop())

	a = w.Consumer(withRecipe(w, fine()), addAmount).Start()
	for range 2 {
		a.PublishRaw("1", one)
		a.PublishRaw("1", two)
		a.PublishRaw("2", other)
	}
	AwaitDuplicates(4, a)
	a.AwaitEffects("10", "20", "30")
	w.Must(a.Stop())

	a = w.Consumer(withRecipe(w, coarse()), addAmount).Start()
	a.PublishRaw("1", one)
	a.PublishRaw("2", other)
	AwaitDuplicates(2, a)
	a.WantOnce("10", "20", "30")
	a.WantNoDead()
}

func retryAcrossRecipes(w *World) {
	var mu sync.Mutex
	var seen []string
	fails := true
	failAfter := func(wait time.Duration) func(a *App) idem.HandlerFunc[Event] {
		return func(a *App) idem.HandlerFunc[Event] {
			return func(ctx context.Context, m idem.Message[Event]) error {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, fmt.Sprint(m.Key, " ", m.Attempt))
				if !fails {
					return a.Effects.Add(ctx, m.Payload.ID)
				}
				return idem.Transient(idem.RetryAfter(errBlip, wait))
			}
		}
	}
	a := w.Consumer(withRecipe(w, coarse()), failAfter(time.Second)).Start()
	a.PublishRaw("1", []byte(`{"id":"1","amount":10}`))
	w.AwaitCount("retry", 1, func() int { return a.Count(idem.Retry) })
	w.Must(a.Stop())
	a = w.Consumer(withRecipe(w, fine()), failAfter(20*time.Millisecond)).Start()
	a.AwaitDead(1)
	d := a.Dead()[0]
	mu.Lock()
	fails = false
	if last := seen[len(seen)-1]; last != "1 5" || d.Key != "1" || d.Attempts != 5 {
		w.Errorf("the handler saw %v, parked under %q after %d attempts; want 5 of key 1", seen, d.Key, d.Attempts)
	}
	mu.Unlock()
	w.Must(a.DeadLetters.Replay(w.Context(), d.ID, deadletter.ReplayOptions{}))
	a.AwaitEffects("1")
	a.PublishRaw("1", []byte(`{"id":"1","amount":10}`))
	AwaitDuplicates(1, a)
	a.WantOnce("1")
}

// doubtful is a third party that takes the order, and whose answer is lost.
type doubtful struct {
	a      *App
	mu     sync.Mutex
	orders []string // keys of the calls
	asked  []string // keys of the questions
}

// Call implements [idem.External].
func (d *doubtful) Call(_ context.Context, m idem.Message[Event]) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders = append(d.orders, m.Key)
	return "", errors.New("no answer")
}

// Apply implements [idem.External].
func (d *doubtful) Apply(ctx context.Context, m idem.Message[Event], _ string) error {
	return d.a.Effects.Add(ctx, m.Payload.ID)
}

// asking is doubtful, but can be asked.
type asking struct{ *doubtful }

// Reconcile implements [idem.Reconciler].
func (a asking) Reconcile(_ context.Context, m idem.Message[Event]) (string, idem.CallOutcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, m.Key)
	return "", idem.CallApplied, nil
}

func retryUnknownCall(w *World) {
	third := &doubtful{}
	third.a = w.App()
	w.Must(idem.RegisterExternal[Event, string](third.a.App, w.Operation("charge"), third))
	third.a.Start().Publish("1")
	third.a.AwaitDead(1)
	third.mu.Lock()
	defer third.mu.Unlock()
	if d := third.a.Dead()[0]; d.Reason != idem.ReasonUnknownOutcome || len(third.orders) != 1 {
		w.Errorf("%d calls, and the message is parked as %s; want one call and %s", len(third.orders), d.Reason, idem.ReasonUnknownOutcome)
	}
	third.a.WantOnce()
}

func retryCallAcrossRecipes(w *World) {
	third := &doubtful{}
	op := withRecipe(w, coarse())
	op.Policy.Backoff = idem.Backoff{Base: time.Hour, Max: time.Hour}
	op.Policy.MaxAttempts = 50
	third.a = w.App()
	w.Must(idem.RegisterExternal[Event, string](third.a.App, op, third))
	third.a.Start().PublishRaw("1", []byte(`{"id":"1","amount":10}`))
	w.AwaitCount("retry", 1, func() int { return third.a.Count(idem.Retry) })
	w.Must(third.a.Stop())

	op.Key = fine()
	third.a = w.App()
	w.Must(idem.RegisterExternal[Event, string](third.a.App, op, asking{third}))
	third.a.Start().PublishRaw("another", []byte(`{"id":"1","amount":10}`))
	third.a.AwaitEffects("1")
	third.mu.Lock()
	defer third.mu.Unlock()
	if len(third.orders) != 1 || len(third.asked) == 0 || third.asked[0] != third.orders[0] {
		w.Errorf("calls under keys %q, questions under %q; want one call and the same key", third.orders, third.asked)
	}
	third.a.WantNoDead()
}
