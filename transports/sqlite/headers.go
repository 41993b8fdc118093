package sqlite

import (
	"encoding/binary"
	"errors"

	"github.com/idem-go/idem/framework/idem"
)

// encodeHeaders writes name and value of each header, each after its length;
// nil when there are none. It keeps any byte, any order and any repetition.
func encodeHeaders(headers []idem.Header) []byte {
	var b []byte
	for _, h := range headers {
		b = binary.AppendUvarint(b, uint64(len(h.Name)))
		b = append(b, h.Name...)
		b = binary.AppendUvarint(b, uint64(len(h.Value)))
		b = append(b, h.Value...)
	}
	return b
}

var errHeaders = errors.New("sqlite: the headers column is damaged")

func decodeHeaders(b []byte) (headers []idem.Header, err error) {
	for len(b) > 0 {
		var name, value []byte
		if name, b, err = field(b); err != nil {
			return nil, err
		}
		if value, b, err = field(b); err != nil {
			return nil, err
		}
		headers = append(headers, idem.Header{Name: string(name), Value: value})
	}
	return headers, nil
}

func field(b []byte) (field, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errHeaders
	}
	b = b[size:]
	return b[:n:n], b[n:], nil
}
