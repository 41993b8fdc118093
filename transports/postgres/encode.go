package postgres

import (
	"encoding/hex"
	"strings"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/internal/queue"
)

// What one INSERT carries at most: a statement is built in memory on both
// sides, and may not exceed 1 GB.
const (
	insertRows  = 2000
	insertBytes = 4 << 20
)

// inserts returns the arguments of as many INSERTs as the messages need. The
// columns go as arrays, so their number is not bounded by that of parameters.
func (b *backend) inserts(topic string, msgs []queue.Message) (args [][]any) {
	for len(msgs) > 0 {
		n, size := 0, 0
		for n < len(msgs) && n < insertRows && size < insertBytes {
			size += len(msgs[n].Payload) + len(msgs[n].Key)
			n++
		}
		uuids, keys, headers, payloads := make([]string, n), make([][]byte, n), make([]*string, n), make([][]byte, n)
		for i, m := range msgs[:n] {
			uuids[i], keys[i], headers[i], payloads[i] = m.UUID, m.Key, encodeHeaders(m.Headers), m.Payload
		}
		args = append(args, []any{topic, uuids, keys, headers, payloads})
		msgs = msgs[n:]
	}
	return args
}

// encodeHeaders writes the literal of a bytea[] that alternates names and
// values; nil if there are none. (An array of arrays of different lengths
// cannot be a parameter.)
func encodeHeaders(headers []idem.Header) *string {
	if len(headers) == 0 {
		return nil
	}
	var s strings.Builder
	for i, h := range headers {
		s.WriteByte("{,"[min(i, 1)])
		writeBytea(&s, []byte(h.Name))
		s.WriteByte(',')
		writeBytea(&s, h.Value)
	}
	s.WriteByte('}')
	text := s.String()
	return &text
}

// writeBytea writes an element of a bytea[] literal.
func writeBytea(s *strings.Builder, b []byte) {
	s.WriteString(`"\\x`)
	s.WriteString(hex.EncodeToString(b))
	s.WriteByte('"')
}

// decodeHeaders is lenient to what others have inserted: a name without a
// value has an empty one.
func decodeHeaders(column [][]byte) []idem.Header {
	if len(column) == 0 {
		return nil
	}
	headers := make([]idem.Header, 0, (len(column)+1)/2)
	for len(column) > 0 {
		h := idem.Header{Name: string(column[0])}
		if len(column) > 1 {
			h.Value = column[1]
		}
		headers = append(headers, h)
		column = column[min(2, len(column)):]
	}
	return headers
}
