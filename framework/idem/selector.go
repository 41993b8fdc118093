package idem

import "slices"

// Selector tells messages by one value that they carry: in a header (the last of
// a repeated one), or at a JSON pointer (RFC 6901) into the payload. The zero
// value selects none.
type Selector struct {
	Header, Pointer string
	// Values are the texts that are meant, compared byte by byte.
	Values []string
}

// Validate returns everything that is wrong, joined.
func (s Selector) Validate() error {
	var e fieldErrors
	where := s.Header != "" || s.Pointer != ""
	e.check(s.Header == "" || s.Pointer == "", "header", "must be empty when there is a pointer")
	e.check(where || len(s.Values) == 0, "values", "are looked for nowhere: name a header or a pointer")
	if s.Pointer != "" {
		problem := checkPointer(s.Pointer)
		e.check(problem == "", "pointer", "%s, is %q", problem, s.Pointer)
	}
	return e.join()
}

func (s Selector) match(headers []Header, doc *jsonDoc) bool {
	if len(s.Values) == 0 {
		return false
	}
	if s.Header != "" {
		v, ok := headerValue(headers, s.Header)
		return ok && slices.Contains(s.Values, v)
	}
	if doc.check() != nil {
		return false
	}
	v, kind := doc.lookup(s.Pointer)
	return kind.scalar() && slices.Contains(s.Values, v)
}
