package idem

import (
	"context"
	"encoding/json"
	"fmt"
)

// Consumer is a registered [Operation] with its handler and its gate.
type Consumer struct {
	Operation
	// Gate controls the consumer's intake.
	Gate *Gate

	engine *Engine
	run    func(ctx context.Context, info Info, payload []byte) error
	ext    *external
	group  *grouper                                             // nil unless TransactionGroup
	runAll func(ctx context.Context, items []batchItem) []error // nil unless a BatchHandler
}

// Engine returns the engine that the consumer runs on.
func (c *Consumer) Engine() *Engine { return c.engine }

// NewConsumer ties an operation to its handler on an engine, for use without
// an [App]: in a Watermill router of one's own, or a test.
func NewConsumer[T any](e *Engine, op Operation, h Handler[T]) (*Consumer, error) {
	if h == nil {
		return nil, fmt.Errorf("idem: operation %q: handler is nil", op.Name)
	}
	if err := checkPayload[T](); err != nil {
		return nil, fmt.Errorf("idem: operation %q: %w", op.Name, err)
	}
	if op.Transaction == TransactionExternal {
		return nil, fmt.Errorf("idem: operation %q: transaction %q needs RegisterExternal", op.Name, op.Transaction)
	}
	return newConsumer(e, op, func(ctx context.Context, info Info, payload []byte) error {
		v, err := decode[T](info, payload)
		if err != nil {
			return err
		}
		AttemptFrom(ctx).Reached(ctx, StepDecoded)
		return h.Handle(ctx, Message[T]{Payload: v, Info: info})
	}, nil)
}

// NewExternalConsumer is NewConsumer for an [External].
func NewExternalConsumer[T, R any](e *Engine, op Operation, h External[T, R]) (*Consumer, error) {
	if h == nil {
		return nil, fmt.Errorf("idem: operation %q: handler is nil", op.Name)
	}
	if err := checkPayload[T](); err != nil {
		return nil, fmt.Errorf("idem: operation %q: %w", op.Name, err)
	}
	op.Transaction = TransactionExternal
	ext := &external{
		call: func(ctx context.Context, info Info, payload []byte) ([]byte, error) {
			v, err := decode[T](info, payload)
			if err != nil {
				return nil, NotApplied(err)
			}
			AttemptFrom(ctx).Reached(ctx, StepDecoded)
			r, err := h.Call(ctx, Message[T]{Payload: v, Info: info})
			if err != nil {
				return nil, err
			}
			return encodeResult(r)
		},
		apply: func(ctx context.Context, info Info, payload, result []byte) error {
			v, err := decode[T](info, payload)
			if err != nil {
				return err
			}
			var r R
			if err := json.Unmarshal(result, &r); err != nil {
				return Bug(fmt.Errorf("idem: recorded result does not decode into %T", r))
			}
			return h.Apply(ctx, Message[T]{Payload: v, Info: info}, r)
		},
	}
	if rec, ok := h.(Reconciler[T, R]); ok {
		ext.reconcile = func(ctx context.Context, info Info, payload []byte) ([]byte, CallOutcome, error) {
			v, err := decode[T](info, payload)
			if err != nil {
				return nil, CallUnknown, err
			}
			r, outcome, err := rec.Reconcile(ctx, Message[T]{Payload: v, Info: info})
			if err != nil || outcome != CallApplied {
				return nil, outcome, err
			}
			result, err := encodeResult(r)
			return result, outcome, err
		}
	}
	return newConsumer(e, op, nil, ext)
}

func newConsumer(e *Engine, op Operation, run func(context.Context, Info, []byte) error, ext *external) (*Consumer, error) {
	if err := op.Validate(); err != nil {
		return nil, err
	}
	c := &Consumer{Operation: op.withDefaults(), Gate: new(Gate), engine: e, run: run, ext: ext}
	if c.Transaction == TransactionGroup {
		c.group = newGrouper(c)
	}
	return c, nil
}

func encodeResult(r any) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, Bug(fmt.Errorf("idem: result of type %T does not encode", r))
	}
	return b, nil
}
