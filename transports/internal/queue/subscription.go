package queue

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// subscription delivers one topic to one group. A message passes through
// claim, emit, await and the settler; it keeps its slot and its place at the
// keeper from the claim until the database knows how it ended.
type subscription struct {
	b      Backend
	c      idem.SubscriberConfig
	topic  string
	poll   time.Duration
	slots  *slots
	log    *slog.Logger
	out    chan *message.Message
	keeper *keeper
	settle *settler

	// intake ends when no more may be fetched, life when the transport is
	// closed; values is the parent of the messages' contexts.
	intake, life, values context.Context

	// kick tells that something was settled, so that more may be claimable.
	kick      chan struct{}
	unsettled sync.WaitGroup
}

func newSubscription(intake, values context.Context, s *subscriber, topic string) *subscription {
	n := &subscription{
		b: s.t.b, c: s.c, topic: topic, poll: s.t.o.PollInterval, slots: s.slots, log: s.logger(topic),
		out:    make(chan *message.Message),
		intake: intake, life: s.t.life, values: values,
		kick: make(chan struct{}, 1),
	}
	n.keeper = newKeeper(n.b, s.c.Lease, s.t.o.LocksOutClaims, n.log)
	n.settle = newSettler(n.b, n.log, n.done, s.c.Step)
	return n
}

// run lives as long as the subscription.
func (n *subscription) run() {
	defer close(n.out)
	work, stop := context.WithCancel(context.Background())
	var helpers sync.WaitGroup
	helpers.Go(func() { n.keeper.run(work) })
	helpers.Go(func() { n.settle.run(work, n.life) })

	n.fetch()
	<-n.intake.Done() // a closed gate alone does not end the subscription
	n.unsettled.Wait()
	stop()
	helpers.Wait()
}

// fetch claims and emits until intake ends.
func (n *subscription) fetch() {
	wake, stop := n.b.Wake(n.topic)
	defer stop()
	if !n.register() {
		return
	}
	var trouble backoff
	var idle idler
	for {
		// The gate comes last: it may have shut while there was no slot.
		free := n.slots.take(n.intake)
		if n.c.Gate.Wait(n.intake) != nil {
			n.slots.give(free)
			return
		}
		holds, err := n.claim(free)
		n.slots.give(free - len(holds))
		switch {
		case err != nil:
			n.log.Warn("queue: cannot claim messages, will try again", "error", err)
			if !trouble.pause(n.intake) {
				return
			}
		case len(holds) > 0:
			idle.reset()
			n.emitAll(holds)
		default:
			if !n.wait(wake, &idle) {
				return
			}
		}
		if err == nil {
			trouble.reset()
		}
	}
}

func (n *subscription) register() bool {
	var trouble backoff
	for n.intake.Err() == nil {
		ctx, cancel := context.WithTimeout(n.intake, callTimeout)
		err := n.b.Register(ctx, n.topic, n.c.Group)
		cancel()
		if err == nil {
			return true
		}
		if n.intake.Err() == nil {
			n.log.Warn("queue: cannot register the group, will try again", "error", err)
			trouble.pause(n.intake)
		}
	}
	return false
}

// claim is not cut short by the end of intake: a claim that is abandoned while
// it commits would hide its messages for a whole lease.
func (n *subscription) claim(free int) ([]*hold, error) {
	ctx, cancel := context.WithTimeout(n.values, min(n.c.Lease, callTimeout))
	defer cancel()
	begun := time.Now()
	req := ClaimRequest{Topic: n.topic, Group: n.c.Group, N: free, Lease: n.c.Lease, Ordered: n.c.Ordered}
	if n.keeper.untimed {
		req.Held = n.keeper.leases()
	}
	ds, err := n.b.Claim(ctx, req)
	if err != nil {
		return nil, err
	}
	holds := make([]*hold, len(ds))
	for i, d := range ds {
		n.unsettled.Add(1)
		holds[i] = n.keeper.add(n.values, d, begun)
	}
	return holds, nil
}

// emitAll hands messages over for a third of the lease. What nobody has taken
// by then goes back, so that others may have it and other topics of this
// subscriber get a slot.
func (n *subscription) emitAll(holds []*hold) {
	ctx, cancel := context.WithTimeout(n.intake, n.c.Lease/3)
	defer cancel()
	for _, h := range holds {
		msg := n.message(h)
		if !n.emit(ctx, h, msg) {
			h.end(nil)
			n.settle.put(settlement{hold: h})
			continue
		}
		go n.await(h, msg)
	}
}

// emit hands msg over; false when it must be given back instead.
func (n *subscription) emit(ctx context.Context, h *hold, msg *message.Message) bool {
	gate := n.c.Gate
	for {
		changed := gate.Changed()
		if ctx.Err() != nil || h.ctx.Err() != nil || gate.Closed() || gate.Paused() != "" {
			return false
		}
		select {
		case n.out <- msg:
			return true
		case <-changed:
		case <-ctx.Done():
		case <-h.ctx.Done():
		}
	}
}

func (n *subscription) message(h *hold) *message.Message {
	d := &idem.Delivery{
		Topic: n.topic, Group: n.c.Group, Position: strconv.FormatInt(h.ID, 10),
		Envelope: h.Envelope, Attempt: h.Attempt, EnqueuedAt: h.EnqueuedAt,
	}
	if n.b.Database() != "" {
		d.Ref, d.AckTx = h, n.ackTx(h)
	}
	h.delivery = d
	msg := message.NewMessage(h.UUID, h.Payload)
	msg.Metadata = idem.Metadata(h.Envelope.Headers)
	msg.SetContext(idem.WithDelivery(h.ctx, d))
	return msg
}

// ackTx is [idem.Delivery.AckTx] of one message.
func (n *subscription) ackTx(h *hold) func(context.Context, any, ...*idem.Delivery) error {
	return func(ctx context.Context, native any, others ...*idem.Delivery) error {
		holds := []*hold{h}
		for _, d := range others {
			holds = append(holds, d.Ref.(*hold))
		}
		leases := make([]Lease, len(holds))
		for i, h := range holds {
			leases[i] = h.Lease
		}
		err := n.b.AckTx(ctx, native, leases...)
		if err != nil && (len(holds) == 1 || !errors.Is(err, idem.ErrLeaseLost)) {
			return err
		}
		for _, h := range holds {
			h.inTx.Store(true)
		}
		return err
	}
}

// await passes on how the message was settled.
func (n *subscription) await(h *hold, msg *message.Message) {
	select {
	case <-msg.Acked():
		h.end(nil)
		n.settle.put(settlement{hold: h, ack: true})
	case <-msg.Nacked():
		h.end(nil)
		after, counted, asked := h.delivery.Redelivery()
		if !asked {
			after, counted = nackDelay(h.Attempt), true
		}
		n.settle.put(settlement{hold: h, after: after, counted: counted})
	case <-n.life.Done():
		h.end(idem.ErrShuttingDown)
		n.done(h)
	}
}

// done is the end of messages' stay here.
func (n *subscription) done(holds ...*hold) {
	for _, h := range holds {
		n.keeper.drop(h)
	}
	n.slots.give(len(holds))
	n.unsettled.Add(-len(holds))
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// wait returns when something may be claimable; false when intake has ended.
func (n *subscription) wait(wake <-chan struct{}, idle *idler) bool {
	ctx, cancel := context.WithTimeout(n.intake, callTimeout)
	due, ok, err := n.b.NextDue(ctx, n.topic, n.c.Group)
	cancel()
	d := n.poll
	if ok && err == nil { // on error the poll finds out
		d = idle.next(due, n.poll)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
		idle.reset()
	case <-n.kick:
		idle.reset()
	case <-timer.C:
	case <-n.intake.Done():
		return false
	}
	return true
}

// idler keeps a delivery that is due and yet cannot be claimed, such as one
// that another claimer is about to take, from turning the wait into a busy loop.
type idler struct{ floor time.Duration }

func (i *idler) next(due, poll time.Duration) time.Duration {
	if due > 0 {
		i.floor = 0
		return min(due, poll)
	}
	i.floor = min(max(2*i.floor, time.Millisecond), poll)
	return i.floor
}

func (i *idler) reset() { i.floor = 0 }
