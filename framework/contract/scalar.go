package contract

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	if !d.want(KindBool) {
		return false
	}
	is := d.data[d.pos] == 't'
	if is {
		d.literal("true")
	} else {
		d.literal("false")
	}
	return is
}

// String reads text.
func (d *Decoder) String() string {
	if !d.want(KindString) {
		return ""
	}
	b, _ := d.text()
	return string(b)
}

// Int reads an integer in any form that JSON has for it: 100, 100.0, 1e2.
func (d *Decoder) Int() int64 {
	if !d.want(KindNumber) {
		return 0
	}
	n := d.number()
	if n == nil {
		return 0
	}
	if v, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return v
	}
	w, ok := parseDecimal(n).integer()
	switch {
	case !ok:
		d.fail("must be an integer")
	case w.overflow || w.size > math.MaxInt64 && (!w.negative || w.size > 1<<63):
		d.fail("must be an integer of 64 bits")
	case w.negative:
		return -int64(w.size) // also of 1<<63
	default:
		return int64(w.size)
	}
	return 0
}

// Uint reads an integer that is not negative.
func (d *Decoder) Uint() uint64 {
	if !d.want(KindNumber) {
		return 0
	}
	n := d.number()
	if n == nil {
		return 0
	}
	if v, err := strconv.ParseUint(string(n), 10, 64); err == nil {
		return v
	}
	w, ok := parseDecimal(n).integer()
	switch {
	case !ok:
		d.fail("must be an integer")
	case w.overflow || w.negative && w.size != 0:
		d.fail("must be an integer of 64 bits without sign")
	default:
		return w.size
	}
	return 0
}

// Float reads a number.
func (d *Decoder) Float() float64 {
	if !d.want(KindNumber) {
		return 0
	}
	n := d.number()
	if n == nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		d.fail("must be a number of 64 bits")
		return 0
	}
	return f
}

// Raw reads any value and returns a copy of its bytes.
func (d *Decoder) Raw() json.RawMessage {
	from := d.pos
	d.Skip()
	if d.fatal != nil {
		return nil
	}
	return bytes.Clone(d.data[from:d.pos])
}

// number reads a number and returns its bytes, or nil.
func (d *Decoder) number() []byte {
	from := d.pos
	d.at('-')
	if !d.at('0') && !d.digits() || d.at('.') && !d.digits() {
		d.syntax("no number")
		return nil
	}
	if d.at('e') || d.at('E') {
		if !d.at('+') {
			d.at('-')
		}
		if !d.digits() {
			d.syntax("no number")
			return nil
		}
	}
	return d.data[from:d.pos]
}

func (d *Decoder) digits() bool {
	from := d.pos
	for d.pos < len(d.data) && isDigit(d.data[d.pos]) {
		d.pos++
	}
	return d.pos > from
}
