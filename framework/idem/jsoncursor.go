package idem

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonCursor walks text that json.Valid has accepted, so no step can fail.
// Between steps it stands on the first byte of a value.
type jsonCursor struct {
	text []byte
	pos  int
}

func (c *jsonCursor) space() {
	for c.pos < len(c.text) && (c.text[c.pos] <= ' ' || c.text[c.pos] == ',' || c.text[c.pos] == ':') {
		c.pos++ // separators carry no information in valid text
	}
}

// enter moves to a member or element of the value; false if there is none.
func (c *jsonCursor) enter(token string) bool {
	switch c.text[c.pos] {
	case '{':
		return c.member(token)
	case '[':
		return c.element(token)
	}
	return false
}

func (c *jsonCursor) member(name string) bool {
	found := -1
	for c.first(); c.text[c.pos] != '}'; c.next() {
		match := sameText(c.str(), name)
		c.space()
		if match {
			found = c.pos
		}
	}
	if found >= 0 {
		c.pos = found
	}
	return found >= 0
}

func (c *jsonCursor) element(token string) bool {
	index, err := strconv.ParseUint(token, 10, 63)
	if err != nil || token != strconv.FormatUint(index, 10) { // no "01", no "+1"
		return false
	}
	for c.first(); c.text[c.pos] != ']'; c.next() {
		if index == 0 {
			return true
		}
		index--
	}
	return false
}

// first steps into an array or object, next over a value in it.
func (c *jsonCursor) first() { c.pos++; c.space() }
func (c *jsonCursor) next()  { c.skip(); c.space() }

// skip steps over a value without recursion, so depth costs no stack.
func (c *jsonCursor) skip() {
	for depth := 0; ; {
		switch c.text[c.pos] {
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			depth--
			c.pos++
		case '"':
			c.str()
		default:
			c.bare()
		}
		if depth == 0 {
			return
		}
		c.space()
	}
}

// str steps over a string and returns what is between its quotes.
func (c *jsonCursor) str() []byte {
	start := c.pos + 1
	for c.pos = start; c.text[c.pos] != '"'; c.pos++ {
		if c.text[c.pos] == '\\' {
			c.pos++
		}
	}
	c.pos++
	return c.text[start : c.pos-1]
}

// bare steps over a number, true, false or null and returns it.
func (c *jsonCursor) bare() []byte {
	start := c.pos
	for c.pos < len(c.text) && strings.IndexByte(",:]} \t\r\n", c.text[c.pos]) < 0 {
		c.pos++
	}
	return c.text[start:c.pos]
}

// scalar returns kind and text of the value and steps over it, unless it is an
// array or object.
func (c *jsonCursor) scalar() (string, jsonKind) {
	switch c.text[c.pos] {
	case '{':
		return "", kindObject
	case '[':
		return "", kindArray
	case '"':
		return unquote(c.str()), kindString
	case 'n':
		c.bare()
		return "", kindNull
	case 't', 'f':
		return string(c.bare()), kindBool
	default:
		return numberText(c.bare()), kindNumber
	}
}

func sameText(raw []byte, s string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == s
	}
	return unquote(raw) == s
}

// unquote decodes the inside of a JSON string. Unlike encoding/json it keeps
// bytes that are not UTF-8, and a lone surrogate as the three bytes it would
// have: replacing them by U+FFFD would make different keys equal.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) && bytes.HasPrefix(raw[i+1:], []byte(`\u`)) {
				if pair := utf16.DecodeRune(r, hex4(raw[i+3:])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			out = appendRune(out, r)
		default: // quote, backslash, slash
			out = append(out, raw[i])
		}
	}
	return string(out)
}

func hex4(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}

func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(out, r)
}
