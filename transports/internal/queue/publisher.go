package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// publishChunk is how many messages go into one transaction at most.
const publishChunk = 1000

type publisher struct{ t *Transport }

// Publish stores the messages and returns after the commit. Up to 1000
// messages are stored together or not at all. The first message's context
// gives its values, not its end: a message may be published because its
// handler ran out of time.
func (p publisher) Publish(topic string, msgs ...*message.Message) error {
	t := p.t
	if err := t.life.Err(); err != nil {
		return fmt.Errorf("%s: publish to %q: transport %w", t.name, topic, errClosed)
	}
	stored, err := t.Encode(topic, msgs...)
	if err != nil || len(stored) == 0 {
		return err
	}
	ctx := context.WithoutCancel(msgs[0].Context())
	for chunk := range slices.Chunk(stored, publishChunk) {
		if err := p.publish(ctx, topic, chunk); err != nil {
			return fmt.Errorf("%s: publish to %q: %w", t.name, topic, err)
		}
	}
	return nil
}

func (p publisher) publish(ctx context.Context, topic string, msgs []Message) error {
	ctx, cancel := context.WithTimeout(ctx, p.t.o.PublishTimeout)
	defer cancel()
	return p.t.b.Publish(ctx, topic, msgs)
}

// Close does nothing; see [Transport.Publisher].
func (publisher) Close() error { return nil }

// Encode checks messages and turns them into what a backend stores, giving a
// UUID to those without. The messages are not changed.
func (t *Transport) Encode(topic string, msgs ...*message.Message) ([]Message, error) {
	if topic == "" {
		return nil, fmt.Errorf("%s: publish: %w", t.name, errNoTopic)
	}
	out := make([]Message, len(msgs))
	for i, msg := range msgs {
		m := Message{UUID: msg.UUID, Envelope: idem.EnvelopeOf(msg), Payload: msg.Payload}
		if n := m.size(); n > t.o.MaxMessageBytes {
			return nil, fmt.Errorf("%s: publish to %q: message %d of %d has %d bytes, the limit is %d: send a reference instead, or raise MaxMessageBytes",
				t.name, topic, i+1, len(msgs), n, t.o.MaxMessageBytes)
		}
		if m.UUID == "" {
			m.UUID = watermill.NewUUID()
		}
		out[i] = m
	}
	return out, nil
}

var errNoTopic = errors.New("topic must not be empty")

func (m Message) size() int {
	n := len(m.UUID) + len(m.Key) + len(m.Payload)
	for _, h := range m.Headers {
		if !strings.HasPrefix(h.Name, idem.HeaderPrefix) { // few and bounded; a copy must fit where the original did
			n += len(h.Name) + len(h.Value)
		}
	}
	return n
}
