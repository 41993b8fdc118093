package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// MarshalExtra writes the members of object, a struct, and those of extra as
// one object. No name may be in both.
func MarshalExtra[T any](object any, extra map[string]T) ([]byte, error) {
	body, err := json.Marshal(object)
	if err != nil || len(extra) == 0 {
		return body, err
	}
	more, err := json.Marshal(extra)
	if err != nil || bytes.Equal(body, []byte("{}")) {
		return more, err
	}
	return append(append(body[:len(body)-1], ','), more[1:]...), nil
}

// IsZero reports whether v is the zero value of its type, which the JSON
// option omitzero leaves out.
func IsZero(v any) bool { return v == nil || reflect.ValueOf(v).IsZero() }
