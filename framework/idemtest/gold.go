// Package idemtest proves that a handler's effect happens once, whatever happens
// to its messages.
package idemtest

import (
	"context"
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

// Message is a message to deliver.
type Message struct {
	// Payload is sent as it is if it is a []byte, else as JSON.
	Payload any
	// Headers are sent as they are.
	Headers []idem.Header
}

// Fixture is what a test knows of one handler.
type Fixture[H any] struct {
	// Handler is the one under test, built on the world.
	Handler H
	// Sample returns the n-th valid message, n from 0. Different n have different keys.
	Sample func(n int) Message
	// Reuse returns a message with other content under m's key.
	Reuse func(m Message) Message
	// Effect tells how often the effect of m is in the business tables, or
	// at the fake third party.
	Effect func(ctx context.Context, m Message) (int, error)
}

// Gold proves the idempotency of a handler.
func Gold[T, H any](t *testing.T, world func(*testing.T) *World, op idem.Operation, fixture func(*testing.T, *World) Fixture[H], handler func(H) idem.Handler[T]) {
	t.Helper()
	t.Skip("idemtest: not ready")
}

// GoldExternal proves the idempotency of an external handler.
func GoldExternal[T, R, H any](t *testing.T, world func(*testing.T) *World, op idem.Operation, fixture func(*testing.T, *World) Fixture[H], handler func(H) idem.External[T, R]) {
	t.Helper()
	t.Skip("idemtest: not ready")
}
