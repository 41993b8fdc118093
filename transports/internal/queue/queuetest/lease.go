package queuetest

import (
	"errors"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

func isLeaseLost(err error) bool { return errors.Is(err, idem.ErrLeaseLost) }

func testLeaseExpiry(f *fixture) {
	f.publish("a")
	begun := time.Now()
	old := f.one(short)
	f.expect(f.claim(1, long))
	again := f.poll(queue.ClaimRequest{Topic: topic, Group: group, N: 1, Lease: long})
	if took := time.Since(begun); took < short {
		f.Errorf("redelivered after %v, the lease is %v", took, short)
	}
	if d := again[0]; d.Attempt != 2 || d.Token == old.Token || d.ID != old.ID {
		f.Errorf("redelivery is %+v after %+v, want attempt 2, the same id and another token", d.Lease, old.Lease)
	}
	// The former owner wakes up and tries everything.
	f.ack(old)
	f.release(old, 0, false)
	lost, err := f.b.Extend(f.ctx, 0, old.Lease)
	f.must(err)
	if len(lost) != 1 || lost[0] != old.Lease {
		f.Errorf("Extend lost %v, want the old lease", lost)
	}
	f.depth(1)
	f.expect(f.claim(1, long))
	f.ack(again...)
	f.depth(0)
}

func testExtend(f *fixture) {
	f.publish("a")
	d := f.one(short)
	lost, err := f.b.Extend(f.ctx, long, d.Lease)
	f.must(err)
	if len(lost) != 0 {
		f.Fatalf("lost %v", lost)
	}
	due, ok, err := f.b.NextDue(f.ctx, topic, group)
	f.must(err)
	if !ok || due < long/2 || due > long+10*time.Millisecond {
		f.Errorf("due in %v (%v), want about %v", due, ok, long)
	}
	f.ack(d)
	f.depth(0)
}

func testNoTime(f *fixture) {
	f.publish("a")
	f.one(0)
	for attempt := 2; attempt <= 3; attempt++ {
		d := f.poll(queue.ClaimRequest{Topic: topic, Group: group, N: 1, Lease: long})[0]
		if d.Attempt != attempt {
			f.Errorf("attempt is %d, want %d", d.Attempt, attempt)
		}
		_, err := f.b.Extend(f.ctx, time.Duration(2-attempt)*time.Second, d.Lease) // 0, -1 s
		f.must(err)
	}
	f.poll(queue.ClaimRequest{Topic: topic, Group: group, N: 1, Lease: long})
}

func testReleaseCounting(f *fixture) {
	f.publish("a")
	for i, step := range []struct {
		counted bool
		attempt int
	}{{false, 1}, {false, 1}, {true, 1}, {false, 2}, {true, 2}, {true, 3}} {
		d := f.one(long)
		if d.Attempt != step.attempt {
			f.Fatalf("step %d: attempt is %d, want %d", i, d.Attempt, step.attempt)
		}
		f.release(d, 0, step.counted)
		f.release(d, long, step.counted) // the lease is gone: no effect
	}
}

func testDelay(f *fixture) {
	const delay = 300 * time.Millisecond
	f.publish("delayed", "prompt")
	d := f.one(long)
	begun := time.Now()
	f.release(d, delay, true)
	f.expect(f.claim(9, long), "prompt")
	ds := f.poll(queue.ClaimRequest{Topic: topic, Group: group, N: 9, Lease: long})
	f.expect(ds, "delayed")
	if took := time.Since(begun); took < delay || took > delay+5*time.Second {
		f.Errorf("came back after %v, want %v", took, delay)
	}
}

func testNextDue(f *fixture) {
	if d, ok, err := f.b.NextDue(f.ctx, topic, group); ok || err != nil {
		f.Fatalf("an empty queue is due in %v, %v, %v", d, ok, err)
	}
	due := func(want time.Duration) {
		f.Helper()
		d, ok, err := f.b.NextDue(f.ctx, topic, group)
		f.must(err)
		if !ok || d > want+10*time.Millisecond || d < want-5*time.Second {
			f.Errorf("due in %v (%v), want %v", d, ok, want)
		}
	}
	f.publish("a", "b")
	a := f.one(long)
	due(long)
	b := f.one(long)
	f.release(b, 10*time.Second, true)
	due(10 * time.Second)
	f.ack(a)
	due(10 * time.Second)
}
