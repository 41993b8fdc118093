package memqueue

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackend(t *testing.T) {
	queuetest.Run(t, func(*testing.T) queue.Backend { return New(1 << 20) })
}

func TestABlockedKeyDoesNotSlowClaims(t *testing.T) {
	t.Parallel()
	b := New(1 << 20)
	ctx := t.Context()
	if err := b.Register(ctx, "t", "g"); err != nil {
		t.Fatal(err)
	}
	const n = 100_000
	msgs := make([]queue.Message, n)
	for i := range msgs {
		msgs[i].Key = []byte("blocked")
	}
	if err := b.Publish(ctx, "t", msgs); err != nil {
		t.Fatal(err)
	}
	claim := func() []queue.Delivery {
		ds, err := b.Claim(ctx, queue.ClaimRequest{Topic: "t", Group: "g", N: 10, Lease: time.Hour, Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		return ds
	}
	if got := len(claim()); got != 1 {
		t.Fatalf("claimed %d, want the first of the key", got)
	}
	for range 100 {
		if err := b.Publish(ctx, "t", []queue.Message{{UUID: "free"}}); err != nil {
			t.Fatal(err)
		}
	}
	// A claim that looked at the blocked ones would take milliseconds.
	begun := time.Now()
	for range 10 {
		ds := claim()
		if len(ds) != 10 {
			t.Fatalf("claimed %d of the others, want 10", len(ds))
		}
	}
	if took := time.Since(begun); took > 100*time.Millisecond {
		t.Errorf("ten claims beside %d blocked messages took %v", n, took)
	}
}
