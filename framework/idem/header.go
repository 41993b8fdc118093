package idem

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Header names that idem reads and writes. Every other header belongs to the
// user and travels unchanged. Headers under [HeaderPrefix] are replaced at each
// hop, never appended to, so they do not grow with retries and replays.
const (
	// HeaderPrefix marks the headers that idem owns.
	HeaderPrefix = "idem-"

	headerKey          = HeaderPrefix + "key"          // idempotency key, trusted on a consumer's own retry topic only
	headerOriginTopic  = HeaderPrefix + "origin-topic" // topic of the first delivery
	headerOriginPos    = HeaderPrefix + "origin-pos"   // position of the first delivery
	headerConsumer     = HeaderPrefix + "consumer"     // consumer that failed
	headerReason       = HeaderPrefix + "reason"       // why it became a dead letter
	headerClass        = HeaderPrefix + "class"        // error class
	headerAttempts     = HeaderPrefix + "attempts"     // handler runs that count
	headerFirstFailed  = HeaderPrefix + "first-failed" // RFC 3339, the database's clock
	headerLastFailed   = HeaderPrefix + "last-failed"  // RFC 3339, the database's clock
	headerError        = HeaderPrefix + "error"        // bounded summary
	headerDeadLetterID = HeaderPrefix + "dead-letter"  // id in the dead-letter store
	headerMessageID    = HeaderPrefix + "message-id"   // message id of the first delivery
	headerEnqueuedAt   = HeaderPrefix + "enqueued-at"  // RFC 3339, the broker's time of the first delivery
	headerFingerprint  = HeaderPrefix + "fingerprint"  // of the message as it was, when its payload was edited; trusted as idem-key is
	headerReplays      = HeaderPrefix + "replays"      // how often it was replayed

	// HeaderCorrelationID is copied from a message to the events its handler emits.
	HeaderCorrelationID = "correlation_id"
	// HeaderCausationID of an emitted event is the id of the message that caused it.
	HeaderCausationID = "causation_id"

	headerTraceParent = "traceparent"
	headerTraceState  = "tracestate"
)

// Header is one name and its bytes as a broker carries them. A message may
// bear the same name several times, and values need not be text.
type Header struct {
	Name  string
	Value []byte
}

// Envelope is what a broker carries beside the payload and what Watermill's
// metadata map cannot express: the ordering key (nil means none, which is not
// the same as empty) and the headers in order, repeats included.
type Envelope struct {
	Key     []byte
	Headers []Header
}

type envelopeKey struct{}

// WithEnvelope returns a context that carries e. A transport's publisher reads
// it from the message's context with [EnvelopeOf].
func WithEnvelope(ctx context.Context, e Envelope) context.Context {
	return context.WithValue(ctx, envelopeKey{}, e)
}

// MetadataKey is the metadata entry in which a plain Watermill publisher names
// the ordering key of a message. It is not sent as a header.
const MetadataKey = HeaderPrefix + "ordering-key"

// EnvelopeOf returns the envelope of a message about to be published: the one
// in its context, else one built from its metadata (sorted by name, the
// ordering key from [MetadataKey]).
func EnvelopeOf(msg *message.Message) Envelope {
	if e, ok := msg.Context().Value(envelopeKey{}).(Envelope); ok {
		return e
	}
	var e Envelope
	for _, name := range sortedKeys(msg.Metadata) {
		if name == MetadataKey {
			e.Key = []byte(msg.Metadata[name])
			continue
		}
		e.Headers = append(e.Headers, Header{Name: name, Value: []byte(msg.Metadata[name])})
	}
	return e
}

// Metadata folds headers into Watermill's map: the last of a repeated name
// wins, as every Watermill marshaler does. The full list stays in the
// [Delivery].
func Metadata(headers []Header) message.Metadata {
	m := make(message.Metadata, len(headers))
	for _, h := range headers {
		m[h.Name] = string(h.Value)
	}
	return m
}

// userHeaders returns the headers that do not belong to idem.
func userHeaders(headers []Header) []Header {
	out := make([]Header, 0, len(headers))
	for _, h := range headers {
		if !strings.HasPrefix(h.Name, HeaderPrefix) {
			out = append(out, h)
		}
	}
	return out
}

func headerValue(headers []Header, name string) (string, bool) {
	for i := len(headers) - 1; i >= 0; i-- {
		if headers[i].Name == name {
			return string(headers[i].Value), true
		}
	}
	return "", false
}

// encodeKeyHeader makes a key safe for brokers that carry text headers only.
func encodeKeyHeader(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(key))
}

func decodeKeyHeader(s string) (string, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return string(b), err == nil && len(b) > 0
}
