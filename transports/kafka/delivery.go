package kafka

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// delivery is one handing-over of a record.
type delivery struct {
	record  *record
	message *message.Message
	info    *idem.Delivery
	cancel  context.CancelCauseFunc
	acked   bool
}

// deliver makes a fresh message of a record.
func (c *claim) deliver(r *record) *delivery {
	uuid, env := decode(r.message)
	info := &idem.Delivery{
		Topic: c.topic, Group: c.group.Group,
		Position:   fmt.Sprintf("%d/%d", r.message.Partition, r.offset),
		Envelope:   env,
		Attempt:    r.attempt,
		EnqueuedAt: r.message.Timestamp,
		NewSession: r.nacks == 0,
	}
	ctx, cancel := context.WithCancelCause(c.life)
	// The handler may write to its payload; the record is needed unchanged.
	msg := message.NewMessage(uuid, bytes.Clone(r.message.Value))
	msg.Metadata = idem.Metadata(env.Headers)
	msg.SetContext(idem.WithDelivery(ctx, info))
	return &delivery{record: r, message: msg, info: info, cancel: cancel}
}

// watch waits until a dispatched message is settled, tells the claim, and then
// gives the slot free: who holds all slots knows that every claim was told.
func (c *claim) watch(d *delivery) {
	select {
	case <-d.message.Acked():
		d.acked = true
	case <-d.message.Nacked():
	case <-c.abandoned:
	}
	select {
	case c.results <- d:
	case <-c.ended:
	}
	d.cancel(nil)
	<-c.slots
}

// Redeliveries that nobody has asked a delay for are spaced from nackBase to
// nackLimit; none comes sooner than nackLeast, so that nothing spins.
const (
	nackLeast = 10 * time.Millisecond
	nackBase  = 100 * time.Millisecond
	nackLimit = 30 * time.Second
)

// again counts a nack and returns when the record is to come back.
func (d *delivery) again() time.Duration {
	d.record.nacks++
	after, counted, asked := d.info.Redelivery()
	if !asked {
		after, counted = spacing(d.record.nacks, nackBase, nackLimit), true
	}
	if counted {
		d.record.attempt++
	}
	return max(after, nackLeast)
}

func (d *delivery) event(s idem.Step) idem.StepEvent {
	return idem.StepEvent{Step: s, Topic: d.info.Topic, MessageID: d.message.UUID, Position: d.info.Position}
}
