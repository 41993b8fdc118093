package contract

import (
	"bytes"
	"strconv"
)

// Skip reads any value.
func (d *Decoder) Skip() {
	d.before = false
	if d.fatal == nil {
		d.skip(len(d.frames))
	}
}

func (d *Decoder) skip(depth int) bool {
	switch d.Kind() {
	case KindNull:
		return d.literal("null")
	case KindBool:
		if d.data[d.pos] == 't' {
			return d.literal("true")
		}
		return d.literal("false")
	case KindNumber:
		return d.number() != nil
	case KindString:
		return d.skipText()
	case KindArray:
		return d.skipAll(depth, ']')
	case KindObject:
		return d.skipAll(depth, '}')
	default:
		return d.syntax("no value")
	}
}

// skipAll reads an object or array that ends with end.
func (d *Decoder) skipAll(depth int, end byte) bool {
	begin := d.pos
	if known, ok := d.seen[begin]; ok {
		d.pos = known.end
		return true
	}
	if d.pos++; depth >= MaxDepth {
		return d.syntax("nested deeper than " + strconv.Itoa(MaxDepth))
	}
	if d.space(); !d.at(end) {
		for {
			if end == '}' && (!d.nameNext() || !d.skipText() || !d.colon()) {
				return false
			}
			if !d.skip(depth + 1) {
				return false
			}
			if d.space(); d.at(end) {
				break
			}
			if !d.at(',') {
				return d.syntax("no comma")
			}
			d.space()
		}
	}
	if d.seen != nil {
		d.seen[begin] = glimpse{end: d.pos}
	}
	return true
}

func (d *Decoder) nameNext() bool { return d.Kind() == KindString || d.syntax("no name of a member") }

func (d *Decoder) colon() bool {
	if d.space(); !d.at(':') {
		return d.syntax("no colon after a name")
	}
	d.space()
	return true
}

func (d *Decoder) literal(word string) bool {
	if !bytes.HasPrefix(d.data[d.pos:], []byte(word)) {
		return d.syntax("no value")
	}
	d.pos += len(word)
	return true
}
