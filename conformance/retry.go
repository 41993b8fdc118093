package conformance

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/idem-go/idem/framework/idem"
)

// errBlip is what handlers of the cases fail with.
var errBlip = errors.New("blip")

// retryCases are about handlers that fail.
func retryCases() []Case {
	return []Case{
		{ID: "RETRY-01", Intent: "a handler that writes and then fails twice leaves one effect, not three", Run: retryLeavesNothing},
	}
}

// runTwice fails each event's first run after its effect is written. Effects
// have the prefix and the event's id.
func runTwice(a *App, runs *Tally, prefix string) idem.HandlerFunc[Event] {
	return func(ctx context.Context, m idem.Message[Event]) error {
		id := prefix + m.Payload.ID
		run, leave := runs.Enter(id)
		defer leave()
		if err := a.Effects.Add(ctx, id); err != nil || run > 1 {
			return err
		}
		return errBlip
	}
}

func retryLeavesNothing(w *World) {
	var calls atomic.Int32
	a := w.Consumer(w.Operation("billing"), func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if err := a.Effects.Add(ctx, m.Payload.ID); err != nil {
				return err
			}
			if calls.Add(1) <= 2 {
				return errBlip
			}
			return nil
		}
	}).Start()
	a.Publish("1")
	a.AwaitEffects("1")
	if calls.Load() != 3 {
		w.Errorf("handler ran %d times, want 3", calls.Load())
	}
}
