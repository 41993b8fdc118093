package queuetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/idem-go/idem/transports/internal/queue"
)

func testGroups(f *fixture) {
	f.register(topic, "mail")
	f.publish("a", "b")
	mail := func() []queue.Delivery {
		f.Helper()
		return f.claimAs(queue.ClaimRequest{Topic: topic, Group: "mail", N: 9, Lease: long})
	}
	mine, theirs := f.claim(9, long), mail()
	f.expect(mine, "a", "b")
	f.expect(theirs, "a", "b")
	f.ack(mine...)
	for _, d := range theirs {
		f.release(d, 0, true)
	}
	f.depth(0)
	f.expect(mail(), "a", "b")

	// One that comes late gets what is still retained.
	f.register(topic, "late")
	f.register(topic, "late") // again changes nothing
	f.publish("c")
	f.expect(f.claimAs(queue.ClaimRequest{Topic: topic, Group: "late", N: 9, Lease: long}), "a", "b", "c")
}

func testRegisterWhilePublishing(f *fixture) {
	const publishers, each, groups = 4, 15, 4
	var work sync.WaitGroup
	for p := range publishers {
		work.Go(func() {
			for i := range each {
				if err := f.b.Publish(f.ctx, topic, []queue.Message{named(fmt.Sprintf("%d-%02d", p, i))}); err != nil {
					f.Error(err)
				}
			}
		})
	}
	for g := range groups {
		work.Go(func() {
			// Twice at once: many processes register when they start.
			var pair sync.WaitGroup
			for range 2 {
				pair.Go(func() {
					if err := f.b.Register(f.ctx, topic, fmt.Sprint("g", g)); err != nil {
						f.Error(err)
					}
				})
			}
			pair.Wait()
		})
	}
	work.Wait()
	for g := range groups {
		ds := f.claimAs(queue.ClaimRequest{Topic: topic, Group: fmt.Sprint("g", g), N: 2 * publishers * each, Lease: long})
		got := payloads(ds)
		slices.Sort(got)
		if unique := len(slices.Compact(slices.Clone(got))); unique != publishers*each || len(got) != unique {
			f.Errorf("group %d got %d messages, %d of them unique, want %d", g, len(got), unique, publishers*each)
		}
	}
}
