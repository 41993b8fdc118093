package queuetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

func testOrdered(f *fixture) {
	f.publish("a/1", "a/2", "b/1", "free 1", "free 2", "a/3")
	f.must(f.b.Publish(f.ctx, topic, []queue.Message{
		{UUID: "e1", Payload: []byte("empty key 1"), Envelope: emptyKey()},
		{UUID: "e2", Payload: []byte("empty key 2"), Envelope: emptyKey()},
	}))
	ds := f.claimOrdered(99)
	f.expect(ds, "a/1", "b/1", "free 1", "free 2", "empty key 1")
	f.expect(f.claimOrdered(99)) // every key is out
	a1, b1 := ds[0], ds[1]

	// A delayed message holds back its key and no other.
	const delay = 300 * time.Millisecond
	begun := time.Now()
	f.release(a1, delay, true)
	f.publish("b/2")
	f.ack(b1)
	f.expect(f.claimOrdered(99), "b/2")
	again := f.poll(queue.ClaimRequest{Topic: topic, Group: group, N: 99, Lease: short, Ordered: true})
	f.expect(again, "a/1")
	if took := time.Since(begun); took < delay {
		f.Errorf("a/1 came back after %v, want %v", took, delay)
	}
	// So does one whose lease runs out.
	again = f.poll(queue.ClaimRequest{Topic: topic, Group: group, N: 99, Lease: long, Ordered: true})
	f.expect(again, "a/1")
	if again[0].Attempt != 3 {
		f.Errorf("attempt is %d, want 3", again[0].Attempt)
	}
	for _, next := range []string{"a/2", "a/3"} {
		f.ack(again...)
		again = f.claimOrdered(99)
		f.expect(again, next)
	}
	f.release(again[0], 0, false)
	f.expect(f.claimOrdered(1), "a/3")

	// Another group has its own order.
	f.register(topic, "other")
	ds = f.claimAs(queue.ClaimRequest{Topic: topic, Group: "other", N: 99, Lease: long, Ordered: true})
	f.expect(ds, "a/1", "b/1", "free 1", "free 2", "empty key 1")
}

func emptyKey() idem.Envelope { return idem.Envelope{Key: []byte{}} }

func testUnordered(f *fixture) {
	f.publish("a/1", "a/2", "b/1", "a/3")
	ds := f.claim(2, long)
	f.expect(ds, "a/1", "a/2")
	f.ack(ds[1])
	f.release(ds[0], long, true)
	f.expect(f.claim(9, long), "b/1", "a/3")
}

// A consumer that was unordered before its last deployment leaves deliveries
// of any age behind.
func testOrderedAfterUnordered(f *fixture) {
	f.publish("a/1", "a/2", "a/3")
	for _, d := range f.claim(2, long) {
		f.release(d, 0, true)
	}
	for _, next := range []string{"a/1", "a/2", "a/3"} {
		ds := f.claimOrdered(9)
		f.expect(ds, next)
		f.ack(ds...)
	}
}

func testConcurrentClaims(f *fixture) {
	const total = 120
	f.publish(numbered(total)...)
	var mu sync.Mutex
	seen := make(map[string]int)
	f.claimers(false, func(ds []queue.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range ds {
			seen[string(d.Payload)]++
			if d.Attempt != 1 {
				f.Errorf("%s: attempt is %d, want 1", d.Payload, d.Attempt)
			}
		}
	}, func([]queue.Delivery) {})
	if len(seen) != total {
		f.Errorf("claimed %d messages, want %d", len(seen), total)
	}
	for name, n := range seen {
		if n != 1 {
			f.Errorf("%s was claimed %d times", name, n)
		}
	}
}

func testConcurrentOrderedClaims(f *fixture) {
	const keys, each = 5, 8
	var names []string
	for i := range each {
		for k := range keys {
			names = append(names, fmt.Sprintf("k%d/%02d", k, i))
		}
	}
	f.publish(names...)
	var mu sync.Mutex
	out, next := make(map[string]bool), make(map[string]int)
	f.claimers(true, func(ds []queue.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range ds {
			key := string(d.Key)
			if want := fmt.Sprintf("%s/%02d", key, next[key]); string(d.Payload) != want || out[key] {
				f.Errorf("claimed %s, want %s; another of its key is out: %v", d.Payload, want, out[key])
			}
			next[key]++
			out[key] = true
		}
	}, func(ds []queue.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range ds {
			out[string(d.Key)] = false
		}
	})
	for k := range keys {
		if n := next[fmt.Sprint("k", k)]; n != each {
			f.Errorf("key %d: claimed %d messages, want %d", k, n, each)
		}
	}
}

// claimers empties the queue with eight claimers of different appetite.
func (f *fixture) claimers(ordered bool, claimed, settle func([]queue.Delivery)) {
	var work sync.WaitGroup
	for n := range 8 {
		work.Go(func() {
			for f.ctx.Err() == nil {
				ds, err := f.b.Claim(f.ctx, queue.ClaimRequest{Topic: topic, Group: group, N: n + 1, Lease: long, Ordered: ordered})
				if err != nil {
					f.Errorf("claimer %d: %v", n, err)
					return
				}
				claimed(ds)
				settle(ds) // before the acknowledgement lets the next one of a key out
				if err := f.b.Ack(f.ctx, leases(ds)...); err != nil {
					f.Errorf("claimer %d: %v", n, err)
					return
				}
				if len(ds) == 0 {
					if depth, _, err := f.b.Depth(f.ctx, topic, group); err != nil || depth == 0 {
						return
					}
				}
			}
		})
	}
	work.Wait()
}
