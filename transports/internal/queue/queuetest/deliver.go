package queuetest

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

func testPublishClaimAck(f *fixture) {
	before := time.Now()
	f.publish("a", "b")
	f.publish("c")
	first := f.claim(2, long)
	f.expect(first, "a", "b")
	for _, d := range first {
		if d.Attempt != 1 || d.UUID != "uuid-"+string(d.Payload) || d.Group != group || d.Token == "" {
			f.Errorf("delivery is %+v, want attempt 1, its uuid, its group and a token", d)
		}
		if age := d.EnqueuedAt.Sub(before).Abs(); age > 10*time.Second {
			f.Errorf("enqueued %v away from now", age)
		}
	}
	if first[0].ID >= first[1].ID {
		f.Errorf("ids %d, %d do not grow", first[0].ID, first[1].ID)
	}
	rest := f.claim(9, long)
	f.expect(rest, "c")
	f.expect(f.claim(9, long))
	f.ack(slices.Concat(first, rest)...)
	f.depth(0)
	f.ack(first...) // again changes nothing
}

func testFidelity(f *fixture) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	sent := []queue.Message{
		{UUID: "nil payload and key"},
		{UUID: "empty payload and key", Payload: []byte{}, Envelope: idem.Envelope{Key: []byte{}}},
		{UUID: "binary", Payload: every, Envelope: idem.Envelope{Key: every, Headers: []idem.Header{header("Ünïcode", string(every))}}},
		{UUID: "repeated", Payload: []byte("x"), Envelope: idem.Envelope{Headers: []idem.Header{
			header("b", "1"), header("a", "2"), header("b", "3"), header("b", ""), header("", "unnamed"), header("B", "upper"),
		}}},
		{UUID: "large", Payload: bytes.Repeat([]byte{0, 0xff, '\n', '\\'}, 1<<18)},
		{UUID: `quo'te " \ ünï`, Payload: []byte(`\x00`)},
	}
	mine := make([]queue.Message, len(sent))
	for i, m := range sent {
		mine[i] = cloneMessage(m)
	}
	f.must(f.b.Publish(f.ctx, topic, mine))
	for _, m := range mine { // the publisher may use its buffers again
		spoilMessage(m)
	}
	got := f.claim(len(sent)+1, long)
	if len(got) != len(sent) {
		f.Fatalf("claimed %d messages, want %d", len(got), len(sent))
	}
	// A handler that spoils what it was given must not spoil the redelivery.
	for round := range 2 {
		for i, want := range sent {
			equalMessage(f, round, got[i].Message, want)
		}
		for _, d := range got {
			spoilMessage(d.Message)
			f.release(d, 0, true)
		}
		got = f.claim(len(sent), long)
	}
}

func cloneMessage(m queue.Message) queue.Message {
	m.Payload, m.Key, m.Headers = bytes.Clone(m.Payload), bytes.Clone(m.Key), slices.Clone(m.Headers)
	for i := range m.Headers {
		m.Headers[i].Value = bytes.Clone(m.Headers[i].Value)
	}
	return m
}

func spoilMessage(m queue.Message) {
	spoil(m.Payload)
	spoil(m.Key)
	for _, h := range m.Headers {
		spoil(h.Value)
	}
}

func spoil(b []byte) {
	for i := range b {
		b[i] ^= 0x55
	}
}

func equalMessage(f *fixture, round int, got, want queue.Message) {
	f.Helper()
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	if got.UUID != want.UUID || !same(got.Payload, want.Payload) || !same(got.Key, want.Key) {
		f.Errorf("round %d, %q: got uuid %q, payload of %d bytes (nil %v), key %q (nil %v)",
			round, want.UUID, got.UUID, len(got.Payload), got.Payload == nil, got.Key, got.Key == nil)
	}
	if !slices.EqualFunc(got.Headers, want.Headers, func(a, b idem.Header) bool {
		return a.Name == b.Name && bytes.Equal(a.Value, b.Value)
	}) {
		f.Errorf("round %d, %q: got headers %q, want %q", round, want.UUID, got.Headers, want.Headers)
	}
}

func testTopics(f *fixture) {
	f.register("other", group)
	f.must(f.b.Publish(f.ctx, "other", []queue.Message{named("other")}))
	f.expect(f.claim(9, long))
	f.expect(f.claimAs(queue.ClaimRequest{Topic: "other", Group: group, N: 9, Lease: long}), "other")
}

func testLargeBatch(f *fixture) {
	names := numbered(1100)
	f.publish(names...)
	f.depth(len(names))
	var got []queue.Delivery
	for len(got) < len(names) {
		ds := f.claim(700, long)
		if len(ds) == 0 {
			break
		}
		got = append(got, ds...)
	}
	f.expect(got, names...)
	f.ack(got...)
	f.depth(0)
}

func testMixedBatch(f *fixture) {
	f.publish("a", "b", "c", "d")
	ds := f.claim(4, long)
	f.ack(ds[0])
	lost := ds[1]
	lost.Token += "x"
	f.ack(ds[0], lost, ds[2])
	f.depth(2) // b and d
	gone, err := f.b.Extend(f.ctx, long, ds[0].Lease, lost.Lease, ds[3].Lease)
	f.must(err)
	if !sameLeases(gone, []queue.Lease{ds[0].Lease, lost.Lease}) {
		f.Errorf("Extend lost %v, want those of a and b", gone)
	}
	f.must(f.b.Release(f.ctx,
		queue.Release{Lease: ds[0].Lease}, queue.Release{Lease: lost.Lease}, queue.Release{Lease: ds[3].Lease}))
	f.expect(f.claim(9, long), "d")
	f.must(f.b.Ack(f.ctx))
	f.must(f.b.Release(f.ctx))
	gone, err = f.b.Extend(f.ctx, long)
	f.must(err)
	if len(gone) != 0 {
		f.Errorf("Extend of nothing lost %v", gone)
	}
}

func sameLeases(a, b []queue.Lease) bool {
	if len(a) != len(b) {
		return false
	}
	for _, l := range a {
		if !slices.Contains(b, l) {
			return false
		}
	}
	return true
}

func testDepth(f *fixture) {
	f.depth(0)
	f.publish("a", "b", "c")
	f.depth(3)
	f.until("an age", func() bool {
		_, oldest, err := f.b.Depth(f.ctx, topic, group)
		f.must(err)
		return oldest > 5*time.Millisecond && oldest < 20*time.Second
	})
	ds := f.claim(2, long)
	f.depth(3) // leased is not acknowledged
	f.release(ds[0], long, true)
	f.ack(ds[1])
	f.depth(2)
}

func testWake(f *fixture) {
	wake, stop := f.b.Wake(topic)
	defer stop()
	other, stopOther := f.b.Wake(topic)
	stopOther()
	f.publish("a")
	select {
	case <-wake:
	case <-f.ctx.Done():
		f.Fatal("not woken")
	}
	select {
	case <-other:
		f.Error("woken after stop")
	default:
	}
}

func testClean(f *fixture) {
	f.must(f.b.Publish(f.ctx, "nobody listens", []queue.Message{named("x")}))
	f.publish("a", "b", "c", "d", "waits")
	f.ack(f.claim(4, long)...)
	n, err := f.b.Clean(f.ctx, time.Hour, 100)
	f.must(err)
	if n != 0 {
		f.Fatalf("removed %d messages younger than the retention", n)
	}
	var removed []int
	f.until("four acknowledged messages and one without a group to be removed", func() bool {
		n, err := f.b.Clean(f.ctx, 0, 2)
		f.must(err)
		if n > 2 {
			f.Fatalf("removed %d, the limit is 2", n)
		}
		removed = append(removed, n)
		total := 0
		for _, n := range removed {
			total += n
		}
		return total >= 5
	})
	f.depth(1)
	f.expect(f.claim(9, long), "waits")
	f.register(topic, "late")
	f.expect(f.claimAs(queue.ClaimRequest{Topic: topic, Group: "late", N: 9, Lease: long}), "waits")
}

func testAckTx(f *fixture) {
	tx := transactor(f)
	f.publish("rolled back", "committed")
	ds := f.claim(2, long)
	for i, commit := range []bool{false, true} {
		native, end := tx.Begin(f.T)
		f.must(f.b.AckTx(f.ctx, native, ds[i].Lease))
		f.must(end(commit))
	}
	f.depth(1)
	lost, err := f.b.Extend(f.ctx, long, ds[0].Lease)
	f.must(err)
	if len(lost) != 0 {
		f.Error("the rolled back acknowledgement lost the lease")
	}
	f.ack(ds...) // the plain acknowledgement after the commit is a no-op
	f.depth(0)
}

func testAckTxLost(f *fixture) {
	tx := transactor(f)
	f.publish("a")
	old := f.one(long)
	f.release(old, 0, true)
	f.one(long)
	native, end := tx.Begin(f.T)
	err := f.b.AckTx(f.ctx, native, old.Lease)
	f.must(end(err == nil))
	if !isLeaseLost(err) {
		f.Errorf("AckTx returned %v, want ErrLeaseLost", err)
	}
	f.depth(1)
	if err := f.b.AckTx(f.ctx, "no transaction", old.Lease); err == nil || isLeaseLost(err) {
		f.Errorf("AckTx with a foreign transaction returned %v", err)
	}
}

func testExtendDuringAckTx(f *fixture) {
	tx := transactor(f)
	if tx.SingleWriter() {
		f.Skip("an open transaction keeps every other writer waiting")
	}
	f.publish("in a transaction", "other")
	ds := f.claim(2, long)
	native, end := tx.Begin(f.T)
	f.must(f.b.AckTx(f.ctx, native, ds[0].Lease))
	ctx, cancel := context.WithTimeout(f.ctx, 3*time.Second)
	defer cancel()
	lost, err := f.b.Extend(ctx, long, leases(ds)...)
	if err != nil || len(lost) != 0 {
		f.Errorf("Extend returned %v, %v; want neither an error nor a loss", lost, err)
	}
	f.must(end(true))
	f.depth(1)
}

func transactor(f *fixture) Transactor {
	tx, ok := f.b.(Transactor)
	if ok == (f.b.Database() == "") {
		f.Fatalf("Database is %q, but Transactor is implemented: %v", f.b.Database(), ok)
	}
	if !ok {
		f.Skip("shares no database with a store")
	}
	return tx
}

var _ testing.TB = (*fixture)(nil)
