package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Optional is a member that may be absent, null, or a value. The zero value is
// absent; with the JSON option omitzero it is left out.
type Optional[T any] struct {
	value T
	state state
}

type state uint8

const (
	absent state = iota
	null
	present
)

// Of returns an Optional that is a value.
func Of[T any](v T) Optional[T] { return Optional[T]{value: v, state: present} }

// Null returns an Optional that is null.
func Null[T any]() Optional[T] { return Optional[T]{state: null} }

// Get returns the value, and whether there is one: it is neither absent nor null.
func (o Optional[T]) Get() (T, bool) { return o.value, o.state == present }

// IsZero reports whether the member is absent.
func (o Optional[T]) IsZero() bool { return o.state == absent }

// IsNull reports whether the member is null.
func (o Optional[T]) IsNull() bool { return o.state == null }

// Equal reports whether both are absent, null, or deeply equal values.
func (o Optional[T]) Equal(other Optional[T]) bool { return reflect.DeepEqual(o, other) }

// MarshalJSON writes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.state != present {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads null or a value. It is for types that encoding/json
// decodes; generated messages do not need it.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	*o = Optional[T]{state: null}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(data, &o.value); err != nil {
		return err
	}
	o.state = present
	return nil
}
