package contract

import (
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string. The bytes are part of the data if that has them as
// they are.
func (d *Decoder) text() ([]byte, bool) {
	from := d.pos + 1
	for i := from; i < len(d.data); i++ {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			return d.data[from:i:i], true
		case c == '\\' || c < ' ' || c >= utf8.RuneSelf:
			return d.textWithMore(from, i)
		}
	}
	d.pos = len(d.data)
	return nil, d.syntax("text without end")
}

// textWithMore reads a string that begins at from and is plain up to i.
func (d *Decoder) textWithMore(from, i int) ([]byte, bool) {
	copied := false
	var b []byte
	flush := func(upTo int) { b, copied = append(b, d.data[from:upTo]...), true }
	for i < len(d.data) {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			if !copied {
				return d.data[from:i:i], true
			}
			return append(b, d.data[from:i]...), true
		case c < ' ':
			d.pos = i
			return nil, d.syntax("control character in text")
		case c == '\\':
			flush(i)
			r, size := unescape(d.data[i:])
			if size == 0 {
				d.pos = i
				return nil, d.syntax("wrong escape in text")
			}
			b = utf8.AppendRune(b, r)
			i += size
			from = i
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(d.data[i:])
			if r == utf8.RuneError && size == 1 {
				flush(i)
				b = utf8.AppendRune(b, utf8.RuneError)
				from = i + 1
			}
			i += size
		}
	}
	d.pos = len(d.data)
	return nil, d.syntax("text without end")
}

// unescape reads what begins with a backslash; size 0 is no escape. A
// surrogate without its other half becomes U+FFFD.
func unescape(b []byte) (r rune, size int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(b[6:]); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// hex4 reads \u and four digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// skipText reads a string without keeping it.
func (d *Decoder) skipText() bool {
	for i := d.pos + 1; i < len(d.data); i++ {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			return true
		case c < ' ':
			d.pos = i
			return d.syntax("control character in text")
		case c == '\\':
			_, size := unescape(d.data[i:])
			if size == 0 {
				d.pos = i
				return d.syntax("wrong escape in text")
			}
			i += size - 1
		}
	}
	d.pos = len(d.data)
	return d.syntax("text without end")
}
