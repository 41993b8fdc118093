package idemtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// phase is the part of a handler that runs.
type phase string

const (
	handling    phase = "Handle"
	calling     phase = "Call"
	applying    phase = "Apply"
	reconciling phase = "Reconcile"
)

// run is one run of a part of the handler under test.
type run struct {
	phase phase
	// key and message say what for, n how often this part ran for this key, from 1.
	key, message string
	n            int

	goroutine int64
	returned  chan struct{} // closed when the handler's own code has returned
	once      sync.Once
	worked    bool  // the handler's own code was called
	err       error // what it returned
}

func (r *run) end() { r.once.Do(func() { close(r.returned) }) }

// detached is how long a statement from a goroutine other than its handler's is
// held back, to see whether the handler returns without it.
const detached = 50 * time.Millisecond

// returnsWithin reports whether the handler has returned, or does so within d.
func (r *run) returnsWithin(d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-r.returned:
		return true
	case <-wait.C:
		return false
	}
}

// inUnit reports whether the run is in a unit of work.
func (r *run) inUnit() bool { return r.phase == handling || r.phase == applying }

type runKey struct{}

func runFrom(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// fault is what befalls a run: it calls work, which is the handler's own code, at
// most once, and its error is what the engine gets.
type fault func(ctx context.Context, r *run, work func(context.Context) error) error

// run runs a part of the handler under the stage's fault.
func (s *stage) run(ctx context.Context, p phase, info idem.Info, work func(context.Context) error) error {
	r := s.begin(p, info)
	s.world.db.enter(r)
	ctx = context.WithValue(ctx, runKey{}, r)
	watched := func(ctx context.Context) error {
		defer r.end()
		r.worked = true
		r.err = work(ctx)
		return r.err
	}
	if s.fault == nil {
		return watched(ctx)
	}
	return s.fault(ctx, r, watched)
}

// watched is a handler under the eyes of a stage.
type watched[T any] struct {
	h idem.Handler[T]
	s *stage
}

// Handle implements [idem.Handler].
func (w watched[T]) Handle(ctx context.Context, msg idem.Message[T]) error {
	return w.s.run(ctx, handling, msg.Info, func(ctx context.Context) error { return w.h.Handle(ctx, msg) })
}

// watchedBatch is watched for a batch handler: it is a run for each message.
type watchedBatch[T any] struct {
	h idem.BatchHandler[T]
	s *stage
}

// HandleBatch implements [idem.BatchHandler]. Where the stage has a fault, each
// message is handled by itself: the fault befalls it, not the others.
func (w watchedBatch[T]) HandleBatch(ctx context.Context, msgs []idem.Message[T]) []error {
	if w.s.fault == nil {
		return w.together(ctx, msgs, 0)
	}
	errs := make([]error, len(msgs))
	for i := range msgs {
		errs[i] = w.s.run(ctx, handling, msgs[i].Info, func(ctx context.Context) error {
			return errors.Join(w.h.HandleBatch(ctx, msgs[i:i+1])...)
		})
	}
	return errs
}

// together runs the messages from i on, each run within that of the one before.
func (w watchedBatch[T]) together(ctx context.Context, msgs []idem.Message[T], i int) (results []error) {
	if i == len(msgs) {
		return w.h.HandleBatch(ctx, msgs)
	}
	_ = w.s.run(ctx, handling, msgs[i].Info, func(ctx context.Context) error {
		results = w.together(ctx, msgs, i+1)
		if len(results) == len(msgs) {
			return results[i]
		}
		return nil
	})
	return results
}

// watchedExternal is watched for an external handler.
type watchedExternal[T, R any] struct {
	h idem.External[T, R]
	s *stage
}

// Call implements [idem.External].
func (w watchedExternal[T, R]) Call(ctx context.Context, msg idem.Message[T]) (r R, err error) {
	err = w.s.run(ctx, calling, msg.Info, func(ctx context.Context) (err error) {
		r, err = w.h.Call(ctx, msg)
		return err
	})
	return r, err
}

// Apply implements [idem.External].
func (w watchedExternal[T, R]) Apply(ctx context.Context, msg idem.Message[T], result R) error {
	return w.s.run(ctx, applying, msg.Info, func(ctx context.Context) error { return w.h.Apply(ctx, msg, result) })
}

// watchedReconciler is a watchedExternal that can be asked.
type watchedReconciler[T, R any] struct {
	watchedExternal[T, R]
	rec idem.Reconciler[T, R]
}

// Reconcile implements [idem.Reconciler].
func (w watchedReconciler[T, R]) Reconcile(ctx context.Context, msg idem.Message[T]) (r R, outcome idem.CallOutcome, err error) {
	err = w.s.run(ctx, reconciling, msg.Info, func(ctx context.Context) (err error) {
		r, outcome, err = w.rec.Reconcile(ctx, msg)
		return err
	})
	w.s.said(outcome)
	return r, outcome, err
}

// watchExternal keeps the handler's ability to be asked.
func watchExternal[T, R any](h idem.External[T, R], s *stage) idem.External[T, R] {
	w := watchedExternal[T, R]{h, s}
	if rec, ok := h.(idem.Reconciler[T, R]); ok {
		return watchedReconciler[T, R]{w, rec}
	}
	return w
}
