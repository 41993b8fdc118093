package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// A message is told to be acked when the broker has its offset, not before; one
// that is done while an earlier one hangs is not.
func TestAckedMeansCommitted(t *testing.T) {
	b := newBench(t, 1)
	b.publish(0, numbered("", 5)...)
	var mu sync.Mutex
	told := map[string]int64{} // acked position: the offset committed then
	back := 0
	m := b.join(b.transport(nil), idem.SubscriberConfig{Concurrency: 5, Step: func(_ context.Context, e idem.StepEvent) {
		committed := b.committed()[0]
		mu.Lock()
		defer mu.Unlock()
		switch e.Step {
		case idem.StepAcked:
			told[e.Position] = committed
		case idem.StepGivenBack:
			back++
		}
	}})
	acked := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(told))
	}
	var msgs []*message.Message
	for range 5 {
		msgs = append(msgs, b.receive(m))
	}
	for i, msg := range msgs {
		if i != 2 {
			msg.Ack()
		}
	}
	wait := func(want ...string) {
		t.Helper()
		b.eventually(func() string {
			if got := acked(); !slices.Equal(got, want) {
				return fmt.Sprintf("acked %v, want %v", got, want)
			}
			return ""
		})
	}
	wait("0/0", "0/1")
	msgs[2].Nack()
	again := b.receive(m)
	if got := acked(); len(got) != 2 {
		t.Errorf("acked %v while a message was unfinished", got)
	}
	again.Ack()
	if err := m.Close(); err != nil { // which commits, and tells of it
		t.Fatal(err)
	}
	wait("0/0", "0/1", "0/2", "0/3", "0/4")
	if back != 1 {
		t.Errorf("told of %d messages given back, want 1", back)
	}
	for position, committed := range told {
		var offset int64
		if _, err := fmt.Sscanf(position, "0/%d", &offset); err != nil || committed <= offset {
			t.Errorf("%s was told to be acked at committed offset %d", position, committed)
		}
	}
}
