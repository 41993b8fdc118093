package postgres

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// hexPrefix marks a string that a text column cannot hold as it is.
const hexPrefix = `\x`

// text makes any string fit for a text column, which takes neither NUL nor
// invalid UTF-8, without losing anything: [untext] undoes it. Usual strings stay
// readable for people with psql.
func text(s string) string {
	if fitsText(s) && !strings.HasPrefix(s, hexPrefix) {
		return s
	}
	return hexPrefix + hex.EncodeToString([]byte(s))
}

func untext(s string) string {
	if rest, ok := strings.CutPrefix(s, hexPrefix); ok {
		if b, err := hex.DecodeString(rest); err == nil {
			return string(b)
		}
	}
	return s
}

// readable makes a text for people fit for a text column; what cannot be shown
// becomes U+FFFD.
func readable(s string) string {
	if fitsText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

func fitsText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
