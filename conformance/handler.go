package conformance

import (
	"context"

	"github.com/idem-go/idem/framework/idem"
)

// handle is what a case does with a message; run counts the runs of its event
// in all processes of the case, from 1.
type handle func(ctx context.Context, a *App, m idem.Message[Event], run int) error

// doing counts the runs of a handler that does as then says.
func doing(runs *Tally, then handle) func(a *App) idem.HandlerFunc[Event] {
	return func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			run, leave := runs.Enter(m.Payload.ID)
			defer leave()
			return then(ctx, a, m, run)
		}
	}
}

// effect is the usual end of a handler: the event's id takes effect.
func effect(ctx context.Context, a *App, m idem.Message[Event], _ int) error {
	return a.Effects.Add(ctx, m.Payload.ID)
}
