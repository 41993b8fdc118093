package middleware_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/middleware"
)

// The handler's own time-out counts, also when a client words it as a
// dependency that is down.
func TestTimeoutThatLooksLikeAnOutageIsCounted(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		runs := 0
		b.handle(idem.Operation{Policy: idem.Policy{MaxAttempts: 3, Timeout: time.Second}}, func(ctx context.Context, m idem.Message[order]) error {
			runs++
			<-ctx.Done()
			return &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(30 * time.Minute)
		b.wantDead(idem.ReasonExhausted)
		if runs != 3 {
			t.Errorf("%d runs, want 3", runs)
		}
	})
}

// A message that fails again after its dead letter was discarded, or while a
// replay is on its way, is parked again: it is always somewhere.
func TestDeadLetterOfTheSameIdentityIsParkedAgain(t *testing.T) {
	t.Run("discarded, and the key forgotten", func(t *testing.T) {
		inBubble(t, benchOptions{}, func(b *bench) {
			b.handle(idem.Operation{Retention: time.Hour}, func(context.Context, idem.Message[order]) error { return idem.Permanent(errBlip) })
			b.start()
			b.publish(order{ID: "1"})
			b.settle(time.Second)
			if err := b.letters.Discard(b.t.Context(), b.dead()[0].ID, deadletter.By{}); err != nil {
				t.Fatal(err)
			}
			b.settle(3 * time.Hour)
			b.publish(order{ID: "1"})
			b.settle(time.Minute)
			b.wantParked(1)
		})
	})
	t.Run("redelivered before its replay arrives", func(t *testing.T) {
		inBubble(t, benchOptions{}, func(b *bench) {
			b.handle(idem.Operation{}, func(context.Context, idem.Message[order]) error { return idem.Permanent(errBlip) })
			b.start()
			b.publish(order{ID: "1"})
			b.settle(time.Second)
			gate := b.app.Consumer("billing").Gate
			gate.Pause("to let the redelivery come first")
			b.publish(order{ID: "1"})
			b.settle(time.Second)
			if err := b.letters.Replay(b.t.Context(), b.dead()[0].ID, noOptions); err != nil {
				t.Fatal(err)
			}
			b.settle(time.Second)
			gate.Resume()
			b.settle(5 * time.Minute)
			b.wantParked(1)
		})
	})
}

// wantParked checks how many dead letters wait for somebody.
func (b *bench) wantParked(want int) {
	b.t.Helper()
	n, _, err := b.store.CountDeadLetters(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if n != want {
		b.t.Errorf("%d parked, want %d", n, want)
	}
}

// charging is an external effect whose Apply panics the first time.
type charging struct{ calls, applies *int }

func (c charging) Call(context.Context, idem.Message[order]) (string, error) {
	*c.calls++
	return "receipt", nil
}

func (c charging) Apply(ctx context.Context, m idem.Message[order], r string) error {
	if *c.applies++; *c.applies == 1 {
		panic("boom")
	}
	effect(ctx, r)
	return nil
}

func TestPanicInApplyKeepsTheResult(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var calls, applies int
		if err := idem.RegisterExternal[order, string](b.app, withDefaults(idem.Operation{}), charging{&calls, &applies}); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.publish(order{ID: "1"})
		b.settle(5 * time.Minute)
		b.wantEffects(map[string]int64{"receipt": 1})
		b.wantDead()
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
}

func TestBugWithoutTextPauses(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		runs := 0
		b.handle(idem.Operation{Policy: idem.Policy{MaxAttempts: 1}}, func(context.Context, idem.Message[order]) error {
			runs++
			return idem.Bug(errors.New(""))
		})
		b.start()
		b.publish(order{ID: "1"})
		b.settle(time.Minute)
		if runs != 1 || b.app.Consumer("billing").Gate.Paused() == "" {
			t.Errorf("%d runs, paused: %q", runs, b.app.Consumer("billing").Gate.Paused())
		}
	})
}

// Garbage under the key of a good message that waits for its retry does not
// take its place.
func TestGarbageDoesNotTakeTheKeyOfAWaitingMessage(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		op := idem.Operation{
			Unordered: true, Key: idem.KeyFrom(idem.FromHeader("id")), Fingerprint: idem.Fingerprint{Pointers: []string{"/id"}},
			Policy: idem.Policy{Quick: -1, Backoff: idem.Backoff{Base: time.Minute, Max: time.Minute}},
		}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			if m.Attempt < 2 {
				return errBlip
			}
			effect(ctx, m.Key)
			return nil
		})
		b.start()
		e := idem.Envelope{Headers: []idem.Header{{Name: "id", Value: []byte("k1")}}}
		b.publishRaw("orders", e, []byte(`{"id":"a"}`))
		b.settle(100 * time.Millisecond)
		b.publishRaw("orders", e, []byte(`{"id":`))
		b.settle(30 * time.Minute)
		b.wantEffects(map[string]int64{"k1": 1})
		b.wantParked(1)
	})
}

type checked struct{ ID string }

func (c *checked) Validate() error {
	if c.ID == "" {
		return errors.New("id is missing")
	}
	return nil
}

func TestNullPayloadIsInvalid(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		op := withDefaults(idem.Operation{Key: idem.KeyFrom(idem.FromHeader("id"))})
		h := idem.HandlerFunc[*checked](func(context.Context, idem.Message[*checked]) error { return nil })
		if err := idem.Register(b.app, op, h); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.publishRaw("orders", idem.Envelope{Headers: []idem.Header{{Name: "id", Value: []byte("k1")}}}, []byte(" null "))
		b.settle(time.Minute)
		b.wantDead(idem.ReasonInvalid)
	})
}

func TestDefaultsStartWithoutAWarning(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{}, nothing)
		b.start()
		if got := b.log.find("keys are forgotten"); len(got) > 0 {
			t.Error("the defaults warn of themselves")
		}
	})
}

// Parts of the chain in somebody's own router: nothing is acked unprocessed,
// nothing needs the other parts.
func TestPartsAlone(t *testing.T) {
	e, err := idem.NewEngine(memory.New(memory.Config{}), nil, idem.Classifier{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := idem.NewConsumer(e, withDefaults(idem.Operation{Dependency: "d", RatePerSecond: 0.001}), idem.HandlerFunc[order](nothing))
	if err != nil {
		t.Fatal(err)
	}
	run := func(m message.HandlerMiddleware, ctx context.Context) (ran bool, err error) {
		msg := message.NewMessage("", []byte(`{"id":"1"}`))
		msg.SetContext(ctx)
		_, err = m(func(*message.Message) ([]*message.Message, error) { ran = true; return nil, nil })(msg)
		return ran, err
	}
	throttle := middleware.Throttle(c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if ran, err := run(throttle, ctx); !ran || err != nil {
		t.Errorf("first: ran %v, %v", ran, err)
	}
	if ran, err := run(throttle, ctx); ran || err == nil { // its turn comes after its deadline
		t.Errorf("second: ran %v, %v; want an error", ran, err)
	}
	breaker, err := middleware.NewBreakers(map[string]middleware.BreakerSettings{"d": {}}).Middleware(c)
	if err != nil {
		t.Fatal(err)
	}
	if ran, err := run(breaker, t.Context()); !ran || err != nil {
		t.Errorf("breaker: ran %v, %v", ran, err)
	}
}

// A commit did not take effect, and before anybody knew, a message of other
// content completed the key: that makes the first one no duplicate.
func TestUnknownCommitOvertakenByOtherContent(t *testing.T) {
	var stage atomic.Int32
	fault := func(p memory.Point) error {
		lost := p == memory.LostCommit && stage.CompareAndSwap(0, 1)
		return errIf(lost || p == memory.AtBegin && stage.CompareAndSwap(1, 2), errBlip) // the first read-back fails, too
	}
	inBubble(t, benchOptions{fault: fault}, func(b *bench) {
		release := make(chan struct{})
		b.handle(idem.Operation{Unordered: true}, func(ctx context.Context, m idem.Message[order]) error {
			if m.Payload.Total == 10 {
				<-release
			}
			return takeEffect(ctx, m)
		})
		b.start()
		b.publish(order{ID: "1", Total: 10})
		b.settle(time.Second)
		b.publish(order{ID: "1", Total: 20})
		b.settle(time.Second)
		close(release)
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"1 10": 0, "1 20": 1})
		if d := b.wantDead(idem.ReasonKeyReuse)[0]; string(d.Payload) != `{"id":"1","total":10}` {
			t.Errorf("parked %s, want the first message", d.Payload)
		}
	})
}
