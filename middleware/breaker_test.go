package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
)

var errDown = idem.DependencyDown(errors.New("503"))

// An outage costs no attempt, dead-letters nothing, and the dependency sees
// probes only.
func TestOpenBreakerKeepsTheQueue(t *testing.T) {
	o := benchOptions{breakers: map[string]middleware.BreakerSettings{"gateway": {Failures: 5, OpenFor: 5 * time.Second}}}
	inBubble(t, o, func(b *bench) {
		var down atomic.Bool
		down.Store(true)
		var calls, failed atomic.Int32
		op := idem.Operation{Dependency: "gateway", Policy: idem.Policy{MaxAttempts: 3}}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			calls.Add(1)
			if down.Load() {
				failed.Add(1)
				return errDown
			}
			effect(ctx, "all")
			return nil
		})
		b.start()
		const n = 1000
		for i := range n {
			b.publish(order{ID: fmt.Sprint(i)})
		}
		b.settle(time.Minute)
		if state, _ := b.breakers.State("gateway"); state == "closed" {
			t.Error("breaker is closed during the outage")
		}
		if f := failed.Load(); f < 5 || f > 60 {
			t.Errorf("the dependency was called %d times during the outage", f)
		}
		down.Store(false)
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"all": n})
		b.wantDead()
		if got := calls.Load() - failed.Load(); got != n {
			t.Errorf("%d successful calls, want %d", got, n)
		}
	})
}

func TestBreakersAreApart(t *testing.T) {
	o := benchOptions{breakers: map[string]middleware.BreakerSettings{"a": {OpenFor: time.Second}, "b": {}}}
	inBubble(t, o, func(b *bench) {
		var down atomic.Bool
		down.Store(true)
		for _, name := range []string{"a", "b"} {
			op := idem.Operation{Name: name, Topic: "topic-" + name, Dependency: name}
			b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
				if name == "a" && down.Load() {
					return errDown
				}
				effect(ctx, name)
				return nil
			})
		}
		b.start()
		for i := range 10 {
			for _, name := range []string{"a", "b"} {
				b.publishRaw("topic-"+name, idem.Envelope{}, fmt.Appendf(nil, `{"id":"%d"}`, i))
			}
		}
		b.settle(500 * time.Millisecond)
		b.wantEffects(map[string]int64{"a": 0, "b": 10})
		if s, _ := b.breakers.State("b"); s != "closed" {
			t.Errorf("breaker b is %s", s)
		}
		down.Store(false)
		b.settle(time.Minute)
		b.wantEffects(map[string]int64{"a": 10})
		// The counts of the outage are forgotten: one failure does not open it again.
		down.Store(true)
		b.publishRaw("topic-a", idem.Envelope{}, []byte(`{"id":"late"}`))
		b.settle(time.Millisecond)
		if s, _ := b.breakers.State("a"); s != "closed" {
			t.Errorf("breaker a is %s after one failure", s)
		}
		down.Store(false)
		b.settle(time.Minute)
	})
}

// What we cancel says nothing about the dependency, whatever it looks like.
func TestOurCancellationsAreNeutral(t *testing.T) {
	o := benchOptions{breakers: map[string]middleware.BreakerSettings{"gateway": {Failures: 1, OpenFor: time.Hour}}, drain: time.Second}
	inBubble(t, o, func(b *bench) {
		op := idem.Operation{Dependency: "gateway", Concurrency: 100, Policy: idem.Policy{Timeout: time.Hour}}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			<-ctx.Done()
			return errors.New("driver: statement aborted")
		})
		b.start()
		for i := range 100 {
			b.publish(order{ID: fmt.Sprint(i)})
		}
		b.settle(time.Millisecond)
		_ = b.halt() // the drain times out; that is the point
		if s, _ := b.breakers.State("gateway"); s != "closed" {
			t.Errorf("breaker is %s", s)
		}
		b.wantDead()
	})
}

// 429 with a window: nobody calls before it is over, and no attempt is counted.
func TestRetryAfterIsHonoured(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var limitedUntil time.Time
		early := 0
		op := idem.Operation{Policy: idem.Policy{MaxAttempts: 1}, Concurrency: 1}
		b.handle(op, func(ctx context.Context, m idem.Message[order]) error {
			switch now := time.Now(); {
			case limitedUntil.IsZero():
				limitedUntil = now.Add(20 * time.Second)
				return idem.RetryAfter(errors.New("429"), 20*time.Second)
			case now.Before(limitedUntil):
				early++
			}
			effect(ctx, "all")
			return nil
		})
		b.start()
		for i := range 10 {
			b.publish(order{ID: fmt.Sprint(i)})
		}
		b.settle(2 * time.Minute)
		if early > 0 {
			t.Errorf("%d calls within the window", early)
		}
		b.wantEffects(map[string]int64{"all": 10})
		b.wantDead()
	})
}
