// Package queuetest is the specification of a [queue.Backend] as tests.
package queuetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

// Transactor is implemented by a backend under test that shares a database
// with a store; AckTx is tested with it.
type Transactor interface {
	// Begin opens a transaction. It returns what AckTx takes, and how the
	// transaction ends.
	Begin(t *testing.T) (native any, end func(commit bool) error)
	// SingleWriter: an open transaction keeps every other writer waiting.
	SingleWriter() bool
}

// Run tests what newBackend returns. Each call must return a backend that
// shares nothing with those before; it is closed by the suite.
func Run(t *testing.T, newBackend func(t *testing.T) queue.Backend) {
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"messages come oldest first until acknowledged", testPublishClaimAck},
		{"bytes arrive as they were sent", testFidelity},
		{"topics are apart", testTopics},
		{"a large batch is published whole and in order", testLargeBatch},
		{"every group gets every message", testGroups},
		{"a group registered while publishing misses and doubles nothing", testRegisterWhilePublishing},
		{"one message per key is out, redeliveries included", testOrdered},
		{"without order a key does not hold back", testUnordered},
		{"order is kept after claims without it", testOrderedAfterUnordered},
		{"a lease that ran out belongs to the next owner", testLeaseExpiry},
		{"an extended lease lasts", testExtend},
		{"a lease of no time is over, not endless", testNoTime},
		{"only a counted release costs an attempt", testReleaseCounting},
		{"a delay is kept to", testDelay},
		{"a lost lease does not spoil a batch", testMixedBatch},
		{"no two claimers share a lease", testConcurrentClaims},
		{"no two claimers share a key", testConcurrentOrderedClaims},
		{"the next due time is known", testNextDue},
		{"cleaning spares what a group waits for", testClean},
		{"the depth is what a group has not acknowledged", testDepth},
		{"publishing wakes", testWake},
		{"an acknowledgement rides in a transaction", testAckTx},
		{"an acknowledgement of a lost lease fails its transaction", testAckTxLost},
		{"a lease held by its own transaction is not lost", testExtendDuringAckTx},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			t.Cleanup(cancel)
			f := &fixture{T: t, b: b, ctx: ctx}
			f.register(topic, group)
			c.test(f)
		})
	}
}

const (
	topic = "orders"
	group = "billing"
	// long is a lease that never ends during a test, short one that soon does.
	long  = time.Minute
	short = 250 * time.Millisecond
)

type fixture struct {
	*testing.T
	b   queue.Backend
	ctx context.Context
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) register(topic, group string) {
	f.Helper()
	f.must(f.b.Register(f.ctx, topic, group))
}

// publish sends messages whose payload is their name; "k/name" has the key k.
func (f *fixture) publish(names ...string) {
	f.Helper()
	var msgs []queue.Message
	for _, name := range names {
		msgs = append(msgs, named(name))
	}
	f.must(f.b.Publish(f.ctx, topic, msgs))
}

func named(name string) queue.Message {
	m := queue.Message{UUID: "uuid-" + name, Payload: []byte(name)}
	for i := range name {
		if name[i] == '/' {
			m.Key = []byte(name[:i])
		}
	}
	return m
}

func (f *fixture) claim(n int, lease time.Duration) []queue.Delivery {
	f.Helper()
	return f.claimAs(queue.ClaimRequest{Topic: topic, Group: group, N: n, Lease: lease})
}

func (f *fixture) claimOrdered(n int) []queue.Delivery {
	f.Helper()
	return f.claimAs(queue.ClaimRequest{Topic: topic, Group: group, N: n, Lease: long, Ordered: true})
}

func (f *fixture) claimAs(r queue.ClaimRequest) []queue.Delivery {
	f.Helper()
	ds, err := f.b.Claim(f.ctx, r)
	f.must(err)
	if len(ds) > r.N {
		f.Fatalf("Claim of %d returned %d deliveries", r.N, len(ds))
	}
	return ds
}

// one claims exactly one message.
func (f *fixture) one(lease time.Duration) queue.Delivery {
	f.Helper()
	ds := f.claim(1, lease)
	if len(ds) != 1 {
		f.Fatalf("Claim returned %d deliveries, want 1", len(ds))
	}
	return ds[0]
}

// poll claims until something comes.
func (f *fixture) poll(r queue.ClaimRequest) []queue.Delivery {
	f.Helper()
	var ds []queue.Delivery
	f.until("something to claim", func() bool {
		ds = f.claimAs(r)
		return len(ds) > 0
	})
	return ds
}

// until waits for a condition.
func (f *fixture) until(what string, ok func() bool) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-f.ctx.Done():
			f.Fatalf("waited in vain for %s", what)
		}
	}
}

func (f *fixture) ack(ds ...queue.Delivery) {
	f.Helper()
	f.must(f.b.Ack(f.ctx, leases(ds)...))
}

func (f *fixture) release(d queue.Delivery, after time.Duration, counted bool) {
	f.Helper()
	f.must(f.b.Release(f.ctx, queue.Release{Lease: d.Lease, After: after, Counted: counted}))
}

// expect compares the payloads of ds.
func (f *fixture) expect(ds []queue.Delivery, want ...string) {
	f.Helper()
	if got := payloads(ds); !slices.Equal(got, want) {
		f.Fatalf("claimed %q, want %q", got, want)
	}
}

func (f *fixture) depth(want int) {
	f.Helper()
	n, _, err := f.b.Depth(f.ctx, topic, group)
	f.must(err)
	if n != want {
		f.Fatalf("depth is %d, want %d", n, want)
	}
}

func leases(ds []queue.Delivery) []queue.Lease {
	var out []queue.Lease
	for _, d := range ds {
		out = append(out, d.Lease)
	}
	return out
}

func payloads(ds []queue.Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, string(d.Payload))
	}
	return out
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%05d", i)
	}
	return out
}

func header(name, value string) idem.Header {
	return idem.Header{Name: name, Value: []byte(value)}
}
