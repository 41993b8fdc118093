package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
	"github.com/idem-go/idem/transports/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, c memory.Config) *memory.Transport {
	t.Helper()
	tr, err := memory.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

func subscribe(t *testing.T, tr idem.Transport) <-chan *message.Message {
	t.Helper()
	s, err := tr.Subscriber(idem.SubscriberConfig{Group: "g", Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	ch, err := s.Subscribe(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestMessagesGoThroughInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr idem.Transport = open(t, memory.Config{})
		if c := tr.Capabilities(); tr.Name() != "memory" || c.Database != "" || !c.DurableDelay {
			t.Errorf("%s has %+v", tr.Name(), c)
		}
		if err := tr.Publisher().Publish("t", message.NewMessage("a", nil)); err != nil {
			t.Fatal(err)
		}
		ch := subscribe(t, tr)
		begun := time.Now()
		(<-ch).Nack()
		(<-ch).Ack()
		if took := time.Since(begun); took != 100*time.Millisecond {
			t.Errorf("redelivered after %v of the bubble's time, want 100ms", took)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	tr := open(t, memory.Config{MaxMessages: 3})
	publish := func(n int) error {
		msgs := make([]*message.Message, n)
		for i := range msgs {
			msgs[i] = message.NewMessage("", nil)
		}
		return tr.Publisher().Publish("t", msgs...)
	}
	ch := subscribe(t, tr)
	if err := errors.Join(publish(2), publish(1)); err != nil {
		t.Fatal(err)
	}
	if err := publish(1); err == nil {
		t.Fatal("a full queue took one more")
	}
	// What is acknowledged makes room, although it is younger than the retention.
	(<-ch).Ack()
	(<-ch).Ack()
	last := <-ch // by now the acknowledgements are stored
	if err := publish(2); err != nil {
		t.Errorf("no room after two acknowledgements: %v", err)
	}
	last.Ack()
	if _, err := memory.New(memory.Config{MaxMessages: -1}); err == nil {
		t.Error("a negative limit is no error")
	}
	if _, err := memory.New(memory.Config{Lease: -1}); err == nil {
		t.Error("a negative lease is no error")
	}
}

func TestWatermillSuite(t *testing.T) {
	tr := open(t, memory.Config{})
	queuetest.Watermill(t, func(*testing.T) idem.Transport { return tr })
}
