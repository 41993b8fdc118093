package idem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MessageDecoder is what a payload type T implements (on *T) to decode itself,
// instead of the default: encoding/json, then a Validate() error method.
// Generated messages do.
//
// DecodeMessage is called on a zero value, once in every handler run and
// before the handler. It must decode and validate: nothing else looks at the
// payload, which it must not keep or change. Info has the headers, for a topic
// whose messages they tell apart.
//
// Its error should name places, never values. It makes the message invalid, so
// the message becomes a dead letter at once: of reason [ReasonUndecodable] if an
// error in its tree has a method Undecodable() bool that returns true (the
// payload does not even have the type), else of reason [ReasonInvalid]. The error
// of an UnmarshalJSON counts in the same way if it has that method.
type MessageDecoder interface {
	DecodeMessage(info Info, payload []byte) error
}

// checkPayload refuses a T whose decoder could not be called.
func checkPayload[T any]() error {
	var v T
	if _, ok := any(&v).(MessageDecoder); ok {
		return nil
	}
	if _, ok := any(v).(MessageDecoder); ok {
		return fmt.Errorf("payload type %T decodes itself, but behind a pointer there is nothing to decode into: make the payload type what it points to", v)
	}
	return nil
}

// decode turns a payload into a fresh, validated T. Its errors name places,
// never values.
func decode[T any](info Info, payload []byte) (T, error) {
	var v T
	switch to := any(&v).(type) {
	case *[]byte:
		*to = bytes.Clone(payload)
		return v, nil
	case MessageDecoder:
		err := broken(to.DecodeMessage(info, payload)) // before v is looked at
		return v, err
	}
	if err := json.Unmarshal(payload, &v); err != nil {
		if decoderOf(err) != nil { // an UnmarshalJSON that names places and no values
			return v, broken(err)
		}
		return v, Invalid(describeJSON(err))
	}
	if bytes.Equal(bytes.TrimSpace(payload), []byte("null")) { // no value to look at or to validate
		return v, Invalid(errors.New("idem: payload is null"))
	}
	var err error
	switch val := any(&v).(type) {
	case interface{ Validate() error }:
		err = val.Validate()
	default:
		if val, ok := any(v).(interface{ Validate() error }); ok {
			err = val.Validate()
		}
	}
	if err != nil {
		return v, Invalid(fmt.Errorf("idem: payload breaks its contract: %w", err))
	}
	return v, nil
}

// broken is what a payload's own decoder says, by what it says of the payload.
func broken(err error) error {
	if err == nil {
		return nil
	}
	if e := decoderOf(err); e != nil && guard(e.Undecodable) {
		return Invalid(&decodeError{"idem: payload does not decode: " + errorText(err)})
	}
	return Invalid(fmt.Errorf("idem: payload breaks its contract: %w", err))
}

type undecodable interface{ Undecodable() bool }

// decoderOf is the error in err's tree that tells what it thinks of the payload,
// or nil.
func decoderOf(err error) undecodable {
	return guard(func() undecodable {
		var e undecodable
		errors.As(err, &e)
		return e
	})
}

func describeJSON(err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &decodeError{fmt.Sprintf("idem: payload is not valid JSON near byte %d", syntax.Offset)}
	case errors.As(err, &typ):
		return &decodeError{fmt.Sprintf("idem: payload field %q near byte %d does not fit type %s", typ.Field, typ.Offset, typ.Type)}
	default:
		return &decodeError{fmt.Sprintf("idem: payload does not decode (%T)", err)}
	}
}

// decodeError marks an error of decoding, which has a dead-letter reason of its own.
type decodeError struct{ text string }

func (e *decodeError) Error() string { return e.text }
