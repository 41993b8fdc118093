package kafka

import (
	"github.com/IBM/sarama"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"strings"

	"github.com/idem-go/idem/framework/idem"
)

// uuidHeader carries the message id, where watermill-kafka's marshaler puts it.
const uuidHeader = wmkafka.UUIDHeaderKey

// encode makes the record of a message. A nil key or payload is null on the
// wire, which is not the same as empty.
func encode(topic string, msg *message.Message) *sarama.ProducerMessage {
	env := idem.EnvelopeOf(msg)
	out := &sarama.ProducerMessage{Topic: topic}
	if env.Key != nil {
		out.Key = sarama.ByteEncoder(env.Key)
	}
	if msg.Payload != nil {
		out.Value = sarama.ByteEncoder(msg.Payload)
	}
	out.Headers = make([]sarama.RecordHeader, 0, len(env.Headers)+1)
	if msg.UUID != "" {
		out.Headers = append(out.Headers, sarama.RecordHeader{Key: []byte(uuidHeader), Value: []byte(msg.UUID)})
	}
	for _, h := range env.Headers {
		if h.Name != uuidHeader {
			out.Headers = append(out.Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
		}
	}
	return out
}

// size is what key, headers and payload take.
func size(m *sarama.ProducerMessage) int {
	n := 0
	if m.Key != nil {
		n += m.Key.Length()
	}
	if m.Value != nil {
		n += m.Value.Length()
	}
	for _, h := range m.Headers {
		if !strings.HasPrefix(string(h.Key), idem.HeaderPrefix) { // few and bounded; a copy must fit where the original did
			n += len(h.Key) + len(h.Value)
		}
	}
	return n
}

// decode splits a record into the message id, "" when the producer gave none,
// and the envelope.
func decode(m *sarama.ConsumerMessage) (uuid string, env idem.Envelope) {
	env.Key = m.Key
	for _, h := range m.Headers {
		if string(h.Key) == uuidHeader {
			uuid = string(h.Value)
			continue
		}
		env.Headers = append(env.Headers, idem.Header{Name: string(h.Key), Value: h.Value})
	}
	return uuid, env
}
