package idem

import (
	"context"
	"fmt"
)

// BatchHandler processes the messages of one shared transaction together, for
// effects that are written in few statements. Each message has its own key: one
// that was processed before is not among them, and one that fails alone is
// judged alone.
//
// HandleBatch returns nil when all went well, else one error (or nil) for each
// message, in their order. Then everything is rolled back, and it is called
// again for those without an error, and for each of the others with that message
// alone. So the error of a message may be reported in any transaction, but is
// taken for its own only where it was by itself. Events are emitted in an
// [ItemContext]. There is at least one message; the slice is not used again.
type BatchHandler[T any] interface {
	HandleBatch(ctx context.Context, msgs []Message[T]) []error
}

// BatchHandlerFunc is a function that is a [BatchHandler].
type BatchHandlerFunc[T any] func(ctx context.Context, msgs []Message[T]) []error

// HandleBatch calls f.
func (f BatchHandlerFunc[T]) HandleBatch(ctx context.Context, msgs []Message[T]) []error {
	return f(ctx, msgs)
}

// NewBatchConsumer is NewConsumer for a [BatchHandler]; its transaction mode is
// [TransactionGroup].
func NewBatchConsumer[T any](e *Engine, op Operation, h BatchHandler[T]) (*Consumer, error) {
	if h == nil {
		return nil, fmt.Errorf("idem: operation %q: handler is nil", op.Name)
	}
	if err := checkPayload[T](); err != nil {
		return nil, fmt.Errorf("idem: operation %q: %w", op.Name, err)
	}
	if op.Transaction == TransactionExternal {
		return nil, fmt.Errorf("idem: operation %q: transaction %q needs RegisterExternal", op.Name, op.Transaction)
	}
	op.Transaction = TransactionGroup
	runAll := func(ctx context.Context, items []batchItem) []error {
		return runBatch(ctx, h, items)
	}
	c, err := newConsumer(e, op, func(ctx context.Context, info Info, payload []byte) error {
		return runAll(ctx, []batchItem{{info, payload}})[0]
	}, nil)
	if err != nil {
		return nil, err
	}
	c.runAll = runAll
	return c, nil
}

// batchItem is a message of a batch before it is decoded.
type batchItem struct {
	info    Info
	payload []byte
}

// runBatch decodes messages and hands them over; those that do not decode are
// not among them. It returns one error or nil for each.
func runBatch[T any](ctx context.Context, h BatchHandler[T], items []batchItem) []error {
	errs := make([]error, len(items))
	msgs := make([]Message[T], 0, len(items))
	at := make([]int, 0, len(items))
	for i, it := range items {
		v, err := decode[T](it.info, it.payload)
		if err != nil {
			errs[i] = err
			continue
		}
		it.info.unit.a.Reached(ctx, StepDecoded)
		msgs, at = append(msgs, Message[T]{Payload: v, Info: it.info}), append(at, i)
	}
	if len(msgs) == 0 {
		return errs
	}
	results := h.HandleBatch(ctx, msgs)
	for n, i := range at {
		switch {
		case len(results) == len(at):
			errs[i] = results[n]
		case len(results) != 0:
			errs[i] = Bug(fmt.Errorf("idem: HandleBatch returned %d errors for %d messages: it must return none, or one (or nil) for each", len(results), len(at)))
		}
	}
	return errs
}

// ItemContext is ctx, in a [BatchHandler], with the unit of work of one message:
// [Emit] with it says that the event comes from this message, and so what its
// default key and id are made of and which headers it passes on. In other
// handlers, and outside of a unit of work, it is ctx.
func ItemContext(ctx context.Context, m Info) context.Context {
	if m.unit == nil {
		return ctx
	}
	return context.WithValue(ctx, unitKey{}, m.unit)
}
