package contract

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Decode decodes and checks a payload. It is for DecodeMessage of generated
// code; to is a pointer that either decodes itself or that encoding/json can
// decode into. Its errors are [Error]s.
func Decode(payload []byte, to interface{ Validate() error }) error {
	if u, ok := to.(json.Unmarshaler); ok {
		if err := u.UnmarshalJSON(payload); err != nil {
			return err
		}
		return to.Validate()
	}
	if err := json.Unmarshal(payload, to); err != nil {
		return describe(err)
	}
	if len(payload) > 0 && NewDecoder(payload).Kind() == KindNull {
		return &Error{Problems: []Problem{{Rule: "must not be null"}}, undecodable: true}
	}
	return to.Validate()
}

// describe says what encoding/json found, without the values that it names.
func describe(err error) error {
	var e *Error
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	p := Problem{Rule: "does not decode"}
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &syntax):
		p.Rule = "is not valid JSON: at byte " + strconv.FormatInt(syntax.Offset, 10)
	case errors.As(err, &typ):
		if typ.Field != "" {
			p.Pointer = "/" + strings.ReplaceAll(typ.Field, ".", "/")
		}
		p.Rule = "must fit " + typ.Type.String()
	}
	return &Error{Problems: []Problem{p}, undecodable: true}
}
