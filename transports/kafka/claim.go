package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// claim dispatches one partition for as long as the group gives it to us. Its
// state belongs to the goroutine of run.
type claim struct {
	*subscription
	session sarama.ConsumerGroupSession
	source  sarama.ConsumerGroupClaim
	backlog *backlog
	offer   *offer
	running map[*delivery]struct{}
	lost    bool // commits would be refused

	results chan *delivery
	ended   chan struct{}
}

// offer is a message on its way out, under a permit.
type offer struct {
	*delivery
	permit
}

func newClaim(s *subscription, session sarama.ConsumerGroupSession, source sarama.ConsumerGroupClaim) *claim {
	return &claim{
		subscription: s, session: session, source: source,
		backlog: newBacklog(s.group.Ordered),
		running: map[*delivery]struct{}{},
		results: make(chan *delivery),
		ended:   make(chan struct{}),
	}
}

// run returns when the partition is no longer ours.
func (c *claim) run() {
	defer close(c.ended)
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	drain := c.intake.Done()
	for {
		if next, ok := c.backlog.wake(time.Now()); ok {
			alarm.Reset(next)
		}
		// A nil channel takes its case out of the select.
		var (
			in      <-chan *sarama.ConsumerMessage
			permits <-chan permit
			out     chan<- *message.Message
			next    *message.Message
			changed <-chan struct{}
		)
		if drain != nil {
			if len(c.backlog.window) < c.cfg.Window && c.backlog.bytes < c.cfg.WindowBytes {
				in = c.source.Messages()
			}
			if c.offer != nil {
				out, next, changed = c.out, c.offer.message, c.offer.changed
			} else if c.backlog.ready.Len() > 0 {
				permits = c.permits
			}
		}
		select {
		case m, ok := <-in:
			if !ok {
				c.wind()
				return
			}
			c.backlog.add(m)
		case p := <-permits:
			c.offer = &offer{c.deliver(c.backlog.next()), p}
		case out <- next:
			c.running[c.offer.delivery] = struct{}{}
			go c.watch(c.offer.delivery)
			c.offer = nil
		case <-changed:
			c.withdraw()
		case d := <-c.results:
			c.settle(d)
		case <-alarm.C:
		case <-drain:
			c.withdraw()
			drain = nil
		case <-c.session.Context().Done():
			c.wind()
			return
		}
	}
}

// withdraw takes an offer back that nobody has accepted.
func (c *claim) withdraw() {
	if c.offer == nil {
		return
	}
	c.offer.cancel(nil)
	c.backlog.putBack(c.offer.record)
	c.offer = nil
	<-c.slots
}

// settle does what became of a message. The committed offset never passes an
// unfinished message.
func (c *claim) settle(d *delivery) {
	delete(c.running, d)
	if !d.acked {
		c.backlog.delay(d.record, time.Now().Add(d.again()))
		if c.group.Step != nil {
			c.group.Step(d.message.Context(), d.event(idem.StepGivenBack))
		}
		return
	}
	c.acked.add(c.source.Partition(), d)
	if offset, moved := c.backlog.finish(d.record); moved && !c.lost {
		c.session.MarkOffset(c.topic, c.source.Partition(), offset, "")
	}
}

// wind ends the claim. Handlers at work may finish in a short time, so that
// their offsets are committed before somebody else gets the partition, unless
// somebody has it already. What waits is left to the next owner.
func (c *claim) wind() {
	c.withdraw()
	c.lost = !ours(context.Cause(c.session.Context()))
	if !c.lost {
		c.await(min(c.cfg.RebalanceTimeout/2, 5*time.Second))
	}
	for d := range c.running {
		d.cancel(idem.ErrLeaseLost)
	}
	c.await(min(c.cfg.RebalanceTimeout/4, unwind))
}

// await settles messages until none is running or d is over. Messages that are
// no longer waited for count as settled.
func (c *claim) await(d time.Duration) {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for len(c.running) > 0 {
		select {
		case d := <-c.results:
			c.settle(d)
		case <-timeout.C:
			return
		}
	}
}

// ours tells from why a session ended whether its partitions are still ours:
// in a rebalance nobody gets them before we have let go. After any other end,
// such as missed heartbeats, they may have a new owner already.
func ours(cause error) bool {
	return cause == nil || // the claim alone ended
		errors.Is(cause, context.Canceled) || // by us
		errors.Is(cause, sarama.ErrRebalanceInProgress) ||
		errors.Is(cause, sarama.ErrSessionPartitionCountChanged) ||
		errors.Is(cause, sarama.ErrSessionConsumeClaimExited)
}
