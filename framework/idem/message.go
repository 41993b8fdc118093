package idem

import (
	"bytes"
	"context"
	"slices"
	"time"
)

// Message is what a handler gets: the decoded payload and what is known about
// the delivery. It is a fresh value in every run; changing it changes nothing
// outside the run.
type Message[T any] struct {
	// Payload is decoded from JSON and validated (if T or *T has a
	// Validate() error method). With T = []byte it is the raw payload.
	Payload T
	Info
}

// Info is what is known about a message beside its payload.
type Info struct {
	// Consumer is the operation's name.
	Consumer string
	// Key is the idempotency key: the same in every delivery, retry and
	// replay, also when the recipe has changed in between and names the older
	// one in KeyRecipe.Previous. Hand it to third parties that accept one.
	Key string
	// ID is the message id, Topic and Position its first delivery.
	ID, Topic, Position string
	// Attempt is the number of this handler run among those that count, from 1.
	Attempt int
	// EnqueuedAt is when the broker took the message; zero if unknown.
	EnqueuedAt time.Time

	headers []Header
	key     []byte
	unit    *unit // in which the message is handled; nil outside of transactions
}

// Header returns the last value of the named header, and whether it is there.
func (i Info) Header(name string) (string, bool) { return headerValue(i.headers, name) }

// Headers returns a copy of the user's headers in the order received.
func (i Info) Headers() []Header {
	out := slices.Clone(i.headers)
	for n := range out {
		out[n].Value = bytes.Clone(out[n].Value)
	}
	return out
}

// OrderingKey returns a copy of the broker's key of the message; nil is none.
func (i Info) OrderingKey() []byte { return bytes.Clone(i.key) }

// Handler processes messages with payload T. Handle runs inside the unit of
// work: database writes go through the store's transaction (the store
// package's TxFrom), events through [Emit]. A nil error commits all of it, an
// error rolls all of it back and is classified; see [Decide].
type Handler[T any] interface {
	Handle(ctx context.Context, msg Message[T]) error
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc[T any] func(ctx context.Context, msg Message[T]) error

// Handle calls f.
func (f HandlerFunc[T]) Handle(ctx context.Context, msg Message[T]) error { return f(ctx, msg) }

// External handles a message whose effect lies outside the database, in three
// steps. The intent is committed before Call; Call runs outside any
// transaction; its result is committed together with Apply. A call that began
// and whose end is unknown (crash, time-out) is never blindly repeated:
// [Reconciler] decides, and without one the message is parked.
type External[T, R any] interface {
	// Call does the outside work, once. Give the third party msg.Key as its
	// idempotency key if it takes one. An error counts as "had no effect" when
	// it is marked [NotApplied], carries an HTTP or gRPC status that turns the
	// request down (a 4xx but 408, 409 and 425), or when a marker or rule says
	// rate limited, invalid, permanent or ignorable. Any other error leaves the
	// outcome unknown.
	Call(ctx context.Context, msg Message[T]) (R, error)
	// Apply records the result in the store's transaction; like a [Handler].
	Apply(ctx context.Context, msg Message[T], result R) error
}

// Reconciler is the part of an [External] that asks the outside what became
// of a call: CallApplied with its result, CallNotApplied to call again, or
// CallUnknown to park the message. An error is retried like any other: return
// one while the call may still be on its way, for CallNotApplied promises that
// it can no longer take effect.
type Reconciler[T, R any] interface {
	Reconcile(ctx context.Context, msg Message[T]) (R, CallOutcome, error)
}

// CallOutcome is what became of an external call.
type CallOutcome int

// The outcomes of an external call; the zero value is unknown.
const (
	CallUnknown CallOutcome = iota
	CallApplied
	CallNotApplied
)
