package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// orderCases are about messages of one ordering key.
func orderCases() []Case {
	keyed := []Need{NeedOrderedByKey}
	return []Case{
		{ID: "ORDER-01", Intent: "the events of one key take effect in order, also when some of them fail", Needs: keyed, Run: orderSurvivesRetries},
		{ID: "ORDER-02", Intent: "20 keys in parallel: each in order, none waits for another", Needs: keyed, Run: orderOfManyKeys},
		{ID: "ORDER-03", Intent: "the order of each key survives that its consumer is replaced in the middle", Needs: keyed, Run: orderSurvivesHandOver},
		{ID: "ORDER-04", Intent: "with Unordered a failed event holds back nothing of its key", Run: orderGivenUp},
		{ID: "ORDER-05", Intent: "an event that follows a dead letter of its key comes after it was stored", Needs: keyed, Run: orderAfterDeadLetter},
		{ID: "ORDER-06", Intent: "a key whose first message fails waits; the other keys flow", Needs: keyed, Run: orderHoldsItsKeyOnly},
		{ID: "ORDER-07", Intent: "order survives a restart while the first message of the key waits for its retry", Needs: keyed, Run: orderAcrossRestart},
		{ID: "ORDER-08", Intent: "messages of one key run one at a time, those of different keys side by side", Needs: []Need{NeedOrderedByKey, NeedWriters}, Run: orderLanes},
		{ID: "ORDER-09", Intent: "events that are emitted under one key reach the next consumer in order", Needs: []Need{NeedOrderedByKey, NeedConsumerGroups}, Run: orderOfEmitted},
		{ID: "ORDER-10", Intent: "order survives commits whose answer is lost", Needs: keyed, Run: orderAcrossUnknownCommits},
	}
}

// sequence is what took effect, by ordering key and in order.
type sequence struct {
	mu   sync.Mutex
	seen map[string][]int64
}

func (s *sequence) add(key string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string][]int64{}
	}
	s.seen[key] = append(s.seen[key], n)
}

func (s *sequence) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.seen {
		n += len(list)
	}
	return n
}

func (s *sequence) want(w *World, n int, keys ...string) {
	w.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if got := s.seen[key]; !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != n {
			w.Errorf("the events of key %s came in the order %v", key, got)
		}
	}
}

// numbered are n events of one ordering key; their ids are the key and the number.
func (w *World) numbered(key string, n int) []*message.Message {
	var msgs []*message.Message
	for i := range n {
		msgs = append(msgs, w.Message(idem.Envelope{Key: []byte(key)}, fmt.Appendf(nil, `{"id":"%s-%d","amount":%d}`, key, i, i)))
	}
	return msgs
}

func orderSurvivesRetries(w *World) {
	var runs Tally
	var order sequence
	a := w.Consumer(w.Operation("billing"), doing(&runs, func(_ context.Context, _ *App, m idem.Message[Event], run int) error {
		if m.Payload.Amount%3 == 0 && run == 1 {
			return idem.Transient(idem.RetryAfter(errBlip, 100*time.Millisecond))
		}
		order.add(string(m.OrderingKey()), m.Payload.Amount)
		return nil
	})).Start()
	a.Send(w.numbered("same", 12)...)
	w.AwaitCount("events", 12, order.total)
	order.want(w, 12, "same")
}

func orderOfManyKeys(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 16
	var order sequence
	a := w.Consumer(op, func(*App) idem.HandlerFunc[Event] {
		return func(_ context.Context, m idem.Message[Event]) error {
			order.add(string(m.OrderingKey()), m.Payload.Amount)
			return nil
		}
	}).Start()
	var keys []string
	const each = 4
	var queues [][]*message.Message
	for i := range 20 {
		keys = append(keys, fmt.Sprint("k", i))
		queues = append(queues, w.numbered(keys[i], each))
	}
	var msgs []*message.Message
	for n := range each {
		for _, q := range queues {
			msgs = append(msgs, q[n])
		}
	}
	a.Send(msgs...)
	w.AwaitCount("events", each*len(keys), order.total)
	order.want(w, each, keys...)
}

func orderSurvivesHandOver(w *World) {
	op := w.Operation("billing")
	var order sequence
	handler := func(*App) idem.HandlerFunc[Event] {
		return func(_ context.Context, m idem.Message[Event]) error {
			order.add(string(m.OrderingKey()), m.Payload.Amount)
			return nil
		}
	}
	keys := []string{"a", "b", "c", "d", "e"}
	a := w.Consumer(op, handler).Start()
	for _, key := range keys {
		a.Send(w.numbered(key, 12)...)
	}
	w.AwaitCount("events", 10, order.total)
	b := w.Consumer(op, handler).Start()
	w.AwaitCount("events", 25, order.total)
	w.Must(a.Stop())
	w.AwaitCount("events", 12*len(keys), order.total)
	order.want(w, 12, keys...)
	b.WantNoDead()
}

func orderGivenUp(w *World) {
	op := w.Operation("billing")
	op.Unordered = true
	var runs Tally
	release := make(chan struct{})
	a := w.Consumer(op, doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		select {
		case <-release:
		default:
			if m.Payload.ID == "k-0" {
				return idem.Transient(idem.RetryAfter(errBlip, 100*time.Millisecond))
			}
		}
		return effect(ctx, a, m, run)
	}))
	op.Policy.MaxAttempts = 1000
	a.Start().Send(w.numbered("k", 5)...)
	a.AwaitEffects("k-1", "k-2", "k-3", "k-4")
	close(release)
	a.AwaitEffects("k-0", "k-1", "k-2", "k-3", "k-4")
}

func orderAfterDeadLetter(w *World) {
	var runs Tally
	a := w.Consumer(w.Operation("billing"), doing(&runs, func(ctx context.Context, a *App, m idem.Message[Event], run int) error {
		if m.Payload.Amount == 0 {
			return idem.Permanent(errBlip)
		}
		if m.Payload.Amount == 1 && len(a.Dead()) != 1 {
			w.Errorf("the event after the dead letter runs while there are %d letters", len(a.Dead()))
		}
		return effect(ctx, a, m, run)
	}))
	a.Start().Send(w.numbered("k", 3)...)
	a.AwaitEffects("k-1", "k-2")
	a.WantDead(idem.ReasonPermanent)
}

func orderHoldsItsKeyOnly(w *World) {
	op := w.Operation("billing")
	op.Concurrency = 4
	op.Policy.MaxAttempts, op.Policy.Quick = 10000, -1
	var mended atomic.Bool
	a := w.Consumer(op, func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if m.Payload.ID == "900" && !mended.Load() {
				return errBlip
			}
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}).Start()
	a.PublishRaw("poison", []byte(`{"id":"900"}`))
	a.PublishRaw("poison", []byte(`{"id":"901"}`))
	all := IDs(30)
	a.Publish(all...)
	a.AwaitEffects(all...)
	mended.Store(true)
	a.AwaitEffects(append(all, "900", "901")...)
	a.WantNoDead()
}

func orderAcrossRestart(w *World) {
	var l sequence
	var up atomic.Bool
	handle := inOrder(&l, func(_ context.Context, m idem.Message[Event]) error {
		if m.Payload.Amount == 0 && !up.Load() {
			return idem.Transient(idem.RetryAfter(errBlip, time.Second))
		}
		return nil
	})
	a := w.Consumer(w.Operation("billing"), handle).Start()
	all := a.sendNumbered(6, "a")
	w.AwaitCount("retry", 1, func() int { return a.Count(idem.Retry) })
	w.Must(a.Stop())
	up.Store(true)
	b := w.Consumer(w.Operation("billing"), handle).Start()
	b.AwaitEffects(all...)
	l.want(w, 6, "a")
}

func orderLanes(w *World) {
	names := []string{"a", "b", "c", "d"}
	var l sequence
	var inLane Tally
	var all sync.WaitGroup
	all.Add(len(names))
	a := w.Consumer(w.Operation("billing"), inOrder(&l, func(_ context.Context, m idem.Message[Event]) error {
		_, leave := inLane.Enter(string(m.OrderingKey()))
		defer leave()
		if m.Payload.Amount == 0 {
			all.Done()
			all.Wait() // one of each key is running
		}
		return nil
	})).Start()
	a.AwaitEffects(a.sendNumbered(5, names...)...)
	l.want(w, 5, names...)
	inLane.WantApart(w)
}

func orderOfEmitted(w *World) {
	const each, n = 2, 8
	out := w.Topic + ".out"
	var l sequence
	a := w.App()
	op := w.Operation("billing")
	w.Must(idem.Register(a.App, op, idem.HandlerFunc[Event](func(ctx context.Context, m idem.Message[Event]) error {
		for i := range int64(each) {
			place := m.Payload.Amount*each + i
			if err := idem.Emit(ctx, idem.Event{Topic: out, Payload: Event{ID: fmt.Sprint("out-", place), Amount: place}}); err != nil {
				return err
			}
		}
		return nil
	})))
	next := w.Operation("mail")
	next.Topic = out
	w.Must(idem.Register(a.App, next, inOrder(&l, willingly)(a)))
	a.Start()
	a.sendNumbered(n, "a")
	var want []string
	for i := range each * n {
		want = append(want, fmt.Sprint("out-", i))
	}
	a.AwaitEffects(want...)
	l.want(w, each*n, "a")
}

func orderAcrossUnknownCommits(w *World) {
	var mu sync.Mutex
	commits := 0
	w.faulty(func(u *unit) fault {
		if !u.done {
			return noFault
		}
		mu.Lock()
		defer mu.Unlock()
		commits++
		switch commits {
		case 2, 5:
			return lostCommit
		case 3, 6:
			return lostReply
		}
		return noFault
	})
	var l sequence
	a := w.Consumer(w.Operation("billing"), inOrder(&l, willingly)).Start()
	a.AwaitEffects(a.sendNumbered(10, "a")...)
	l.want(w, 10, "a")
}

// inOrder remembers the order of the events; before may let them fail.
func inOrder(s *sequence, before func(ctx context.Context, m idem.Message[Event]) error) func(a *App) idem.HandlerFunc[Event] {
	return func(a *App) idem.HandlerFunc[Event] {
		return func(ctx context.Context, m idem.Message[Event]) error {
			if err := before(ctx, m); err != nil {
				return err
			}
			s.add(string(m.OrderingKey()), m.Payload.Amount)
			return a.Effects.Add(ctx, m.Payload.ID)
		}
	}
}

func willingly(context.Context, idem.Message[Event]) error { return nil }

// sendNumbered sends n events of each ordering key and returns their ids.
func (a *App) sendNumbered(n int, keys ...string) (all []string) {
	a.w.Helper()
	for _, key := range keys {
		a.Send(a.w.numbered(key, n)...)
		for i := range n {
			all = append(all, fmt.Sprintf("%s-%d", key, i))
		}
	}
	return all
}
