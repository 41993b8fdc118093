package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/outbox"
	"github.com/idem-go/idem/framework/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker keeps what was published; refuse decides per message.
type broker struct {
	mu     sync.Mutex
	got    []string // "topic/key/id"
	at     []time.Time
	calls  int
	refuse func(id string) error
}

func (b *broker) Publish(topic string, msgs ...*message.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	for _, m := range msgs {
		if b.refuse != nil {
			if err := b.refuse(m.UUID); err != nil {
				return err
			}
		}
	}
	for _, m := range msgs {
		b.got = append(b.got, fmt.Sprintf("%s/%s/%s", topic, idem.EnvelopeOf(m).Key, m.UUID))
		b.at = append(b.at, time.Now())
	}
	return nil
}

func (b *broker) Close() error { return nil }

// pass lets bubble time pass and everything in it come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func emit(t *testing.T, s *memory.Store, out ...idem.Outgoing) {
	t.Helper()
	if err := s.Do(t.Context(), func(tx idem.Tx) error { return tx.Emit(t.Context(), out...) }); err != nil {
		t.Fatal(err)
	}
}

// run starts n relays in a bubble, lets f act, and stops them.
func run(t *testing.T, n int, b *broker, f func(*memory.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range n {
			r, err := outbox.New(outbox.Config{Store: s, Publisher: b, Batch: 10})
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if err := r.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		defer func() { cancel(); wg.Wait() }()
		f(s)
	})
}

func TestRelayPublishesInOrderOfEachKey(t *testing.T) {
	b := &broker{}
	run(t, 4, b, func(s *memory.Store) {
		want := map[string][]string{}
		for i := range 100 {
			key := fmt.Sprint("k", i%3)
			id := fmt.Sprintf("%03d", i)
			want[key] = append(want[key], "t/"+key+"/"+id)
			emit(t, s, idem.Outgoing{ID: id, Topic: "t", Key: []byte(key)})
		}
		pass(time.Minute)
		if len(b.got) != 100 {
			t.Fatalf("%d published, want 100", len(b.got))
		}
		got := map[string][]string{}
		for _, line := range b.got {
			key := line[2:4]
			got[key] = append(got[key], line)
		}
		for key := range want {
			if !slices.Equal(got[key], want[key]) {
				t.Errorf("key %s came in the order %v", key, got[key])
			}
		}
		if n, _, _ := s.OutboxDepth(t.Context()); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// A row that the broker refuses holds back its own key, nobody else, with
// growing pauses; and it is not lost.
func TestRefusedRowHoldsItsKeyOnly(t *testing.T) {
	var accept atomic.Bool
	tries := 0
	b := &broker{}
	b.refuse = func(id string) error {
		if id == "a1" && !accept.Load() {
			tries++
			return errors.New("message too large")
		}
		return nil
	}
	run(t, 1, b, func(s *memory.Store) {
		emit(t, s,
			idem.Outgoing{ID: "a1", Topic: "t", Key: []byte("a")}, idem.Outgoing{ID: "a2", Topic: "t", Key: []byte("a")},
			idem.Outgoing{ID: "b1", Topic: "t", Key: []byte("b")}, idem.Outgoing{ID: "n1", Topic: "t"})
		pass(10 * time.Minute)
		b.mu.Lock()
		slices.Sort(b.got)
		b.mu.Unlock()
		if want := []string{"t//n1", "t/b/b1"}; !slices.Equal(b.got, want) {
			t.Fatalf("published %v while a1 is refused, want %v", b.got, want)
		}
		if tries < 10 || tries > 200 {
			t.Errorf("%d tries in 10 min", tries)
		}
		accept.Store(true)
		pass(10 * time.Minute)
		if want := []string{"t//n1", "t/b/b1", "t/a/a1", "t/a/a2"}; !slices.Equal(b.got, want) {
			t.Errorf("published %v, want %v", b.got, want)
		}
	})
}

func TestDelayedRowWaits(t *testing.T) {
	b := &broker{}
	run(t, 2, b, func(s *memory.Store) {
		begin := time.Now()
		emit(t, s, idem.Outgoing{ID: "late", Topic: "t", Delay: time.Hour}, idem.Outgoing{ID: "now", Topic: "t"})
		pass(2 * time.Hour)
		if len(b.got) != 2 {
			t.Fatalf("published %v", b.got)
		}
		if d := b.at[0].Sub(begin); d > 50*time.Millisecond {
			t.Errorf("a row without delay took %v", d)
		}
		if d := b.at[1].Sub(begin); d < time.Hour || d > time.Hour+time.Second {
			t.Errorf("a row with a delay of 1h took %v", d)
		}
	})
}

// Between publish and bookkeeping the relay dies: the row comes again under
// the same id.
func TestCrashAfterPublishRepeatsTheSameID(t *testing.T) {
	b := &broker{}
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s := memory.New(memory.Config{Fault: func(p memory.Point) error {
			if p == memory.AtCall && broken && len(b.got) == 1 {
				return errors.New("connection refused")
			}
			return nil
		}})
		emit(t, s, idem.Outgoing{ID: "1", Topic: "t"})
		r, err := outbox.New(outbox.Config{Store: s, Publisher: b})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Drain(t.Context()); err == nil {
			t.Error("Drain said nothing of the failed bookkeeping")
		}
		broken = false
		pass(time.Minute)
		if _, err := r.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"t//1", "t//1"}; !slices.Equal(b.got, want) {
			t.Errorf("published %v, want %v", b.got, want)
		}
	})
}

func TestConfigNamesEveryProblem(t *testing.T) {
	_, err := outbox.New(outbox.Config{Batch: -1, Poll: -1, Backoff: idem.Backoff{Base: -1}})
	for _, want := range []string{"store", "publisher", "batch", "poll", "backoff"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// A broker that is down is not asked once for each row.
func TestOutageIsNotMultiplied(t *testing.T) {
	b := &broker{refuse: func(string) error { return errors.New("connection refused") }}
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		for i := range 50 {
			emit(t, s, idem.Outgoing{ID: fmt.Sprint(i), Topic: "t", Key: fmt.Append(nil, i)})
		}
		r, err := outbox.New(outbox.Config{Store: s, Publisher: b})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.Drain(t.Context()); n != 50 || err == nil {
			t.Errorf("Drain: %d rows, %v", n, err)
		}
		if b.calls > 5 {
			t.Errorf("%d publishes", b.calls)
		}
		b.refuse = nil
		for range 10 {
			pass(time.Minute)
			if _, err := r.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(b.got) != 50 {
			t.Errorf("%d published after the outage, want 50", len(b.got))
		}
	})
}
