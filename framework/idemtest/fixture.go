package idemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

// Message is a message to deliver.
type Message struct {
	// Payload is sent as it is if it is a []byte, else as JSON.
	Payload any
	// Headers are sent as they are, in this order.
	Headers []idem.Header
}

// Fixture is what a test knows of one handler. It is made anew for every
// subtest, on a world of its own.
type Fixture[H any] struct {
	// Handler is the one under test. It is required, and must reach the
	// business tables through [World.DB].
	Handler H
	// Sample returns the n-th valid message, n from 0; required. The same n gives
	// the same message, different n have different keys. A handler that needs
	// rows for its messages finds them in the world: the fixture writes them.
	Sample func(n int) Message
	// Reuse returns a message with m's key and other content: what a
	// producer sends that uses a key twice. Nil leaves that subtest out.
	Reuse func(m Message) Message
	// Effect tells how often the effect of m is in the business tables, or at
	// the stand-in for a third party: 0 before m is processed, 1 afterwards
	// whatever happens. It is required and must count: a probe that asks
	// whether there is any effect hides the second one. Called from one
	// goroutine at a time, while the application runs.
	Effect func(ctx context.Context, m Message) (int, error)
}

// probes is a fixture without its type parameter.
type probes struct {
	sample func(n int) Message
	reuse  func(Message) Message
	effect func(context.Context, Message) (int, error)
}

func (f Fixture[H]) probes(t *testing.T) probes {
	t.Helper()
	if f.Sample == nil {
		t.Fatal("the fixture has no Sample: without a message there is nothing to try")
	}
	if f.Effect == nil {
		t.Fatal("the fixture has no Effect: without a probe nobody knows how often the effect happened")
	}
	return probes{f.Sample, f.Reuse, f.Effect}
}

// body is what is sent.
func (m Message) body(t *testing.T) []byte {
	t.Helper()
	if raw, ok := m.Payload.([]byte); ok {
		return raw
	}
	b, err := json.Marshal(m.Payload)
	if err != nil {
		t.Fatalf("the fixture's payload does not encode: %v", err)
	}
	return b
}

// equal reports whether two messages are the same on the wire.
func (m Message) equal(t *testing.T, o Message) bool {
	t.Helper()
	return bytes.Equal(m.body(t), o.body(t)) && sameHeaders(m.Headers, o.Headers)
}

func sameHeaders(a, b []idem.Header) bool {
	return slices.EqualFunc(a, b, func(a, b idem.Header) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) })
}
