package sqldb

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// encodeHeaders packs headers as they are: names and values may be any bytes,
// which JSON cannot hold. Each is a length and its bytes; the length of a
// value is raised by one, so that 0 can mean nil.
func encodeHeaders(hs []idem.Header) []byte {
	b := []byte{}
	for _, h := range hs {
		b = binary.AppendUvarint(b, uint64(len(h.Name)))
		b = append(b, h.Name...)
		if h.Value == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(h.Value))+1)
		b = append(b, h.Value...)
	}
	return b
}

var errHeaders = errors.New("stored headers are damaged")

func decodeHeaders(b []byte) ([]idem.Header, error) {
	var hs []idem.Header
	take := func(n uint64) []byte {
		v := b[:n:n]
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return nil, errHeaders
		}
		b = b[w:]
		h := idem.Header{Name: string(take(n))}
		n, w = binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w)+1 {
			return nil, errHeaders
		}
		b = b[w:]
		if n > 0 {
			h.Value = take(n - 1)
		}
		hs = append(hs, h)
	}
	return hs, nil
}

// nullTime is t in microseconds, or NULL when it is zero.
func nullTime(t time.Time) sql.Null[int64] {
	return sql.Null[int64]{V: t.UnixMicro(), Valid: !t.IsZero()}
}

func timeOf(us sql.Null[int64]) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return time.UnixMicro(us.V)
}

// blob scans bytes and keeps nil (NULL) and empty apart, which database/sql
// does not do for every driver.
type blob struct{ to *[]byte }

func (b blob) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*b.to = nil
	case []byte:
		*b.to = append([]byte{}, v...)
	default:
		return fmt.Errorf("a column of bytes holds a %T", src)
	}
	return nil
}
