package contract

import "strconv"

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 1000

// Decoder reads one JSON value from bytes. Generated code drives it: where it
// stands before a value, exactly one method must read that value.
//
//	for d.Object() {
//		switch string(d.Name()) {
//		case "total":
//			m.Total = d.Int()
//		default:
//			d.Skip()
//		}
//	}
//
// A value of the wrong type is skipped, so that a later member of the same
// name can still replace it; [Decoder.End] says whether all is well. A Decoder
// is for one goroutine and does not change the bytes.
type Decoder struct {
	data []byte
	pos  int
	// before is true where a value has yet to be read.
	before bool
	frames []frame
	// wrong is the first error in the value that was just read, or the first
	// that makes it undecodable; fatal says that the
	// text is not JSON and nothing more can be read.
	wrong *Error
	fatal *Error
	// seen holds the objects and arrays that were looked into ahead of time, by
	// where they begin, so that nothing is looked through more than once.
	seen map[int]glimpse
}

// frame is an object or array that is being read.
type frame struct {
	name  []byte
	index int // of the element; -1 in an object
	// wrong holds errors of members by their names, until the object ends;
	// outer is that of what was read before the object or array.
	wrong map[string]located
	outer *Error
}

type located struct {
	at  int
	err *Error
}

// NewDecoder returns a decoder that stands before the value in data.
func NewDecoder(data []byte) *Decoder {
	d := &Decoder{data: data, before: true}
	d.space()
	return d
}

// End reports the first error, as an *[Error], if the value was not as it was
// read or if anything follows it. It is undecodable unless all that is wrong is
// that members are missing, too few or too many, or elements equal.
func (d *Decoder) End() error {
	d.space()
	switch {
	case d.fatal != nil:
		return d.fatal
	case d.before || len(d.frames) > 0:
		panic("contract: the decoder stands inside the value")
	case d.pos < len(d.data):
		d.syntax("text after the value")
		return d.fatal
	case d.wrong != nil:
		return d.wrong
	}
	return nil
}

// Kind is the JSON type of a value.
type Kind uint8

// The kinds of value; the zero value is no JSON.
const (
	KindInvalid Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

func (k Kind) String() string {
	return [...]string{"no JSON value", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Kind returns the type of the value that comes next, without reading it.
func (d *Decoder) Kind() Kind {
	if d.fatal != nil || d.pos >= len(d.data) {
		return KindInvalid
	}
	switch c := d.data[d.pos]; c {
	case 'n':
		return KindNull
	case 't', 'f':
		return KindBool
	case '"':
		return KindString
	case '[':
		return KindArray
	case '{':
		return KindObject
	default:
		if c == '-' || isDigit(c) {
			return KindNumber
		}
		return KindInvalid
	}
}

// want reads on if the value is of the kind, else it reports and skips it.
func (d *Decoder) want(k Kind) bool {
	if got := d.Kind(); got != k {
		if got != KindInvalid {
			d.fail("must be " + k.String() + ", is " + got.String())
		}
		d.Skip()
		return false
	}
	d.before = false
	return true
}

// Null reads null and returns true, or leaves any other value.
func (d *Decoder) Null() bool {
	if d.Kind() != KindNull {
		return false
	}
	d.Skip()
	return true
}

// Object moves to the next member of the object: the first time into the
// object, at last out of it, which returns false.
func (d *Decoder) Object() bool {
	if d.before {
		if !d.want(KindObject) || !d.push(-1) {
			return false
		}
		if d.space(); d.at('}') {
			return d.pop()
		}
	} else {
		if d.fatal != nil {
			return false
		}
		d.settle()
		if d.space(); d.at('}') {
			return d.pop()
		}
		if !d.at(',') {
			return d.syntax("no comma between members")
		}
		d.space()
	}
	if !d.nameNext() {
		return false
	}
	name, ok := d.text()
	if !ok {
		return false
	}
	d.frames[len(d.frames)-1].name = name
	d.before = d.colon()
	return d.before
}

// Name returns the name of the member whose value comes next. The bytes are
// not to be kept or changed.
func (d *Decoder) Name() []byte { return d.frames[len(d.frames)-1].name }

// Array moves to the next element, like Object.
func (d *Decoder) Array() bool {
	if d.before {
		if !d.want(KindArray) || !d.push(0) {
			return false
		}
		if d.space(); d.at(']') {
			return d.pop()
		}
	} else {
		if d.fatal != nil {
			return false
		}
		if d.space(); d.at(']') {
			return d.pop()
		}
		if !d.at(',') {
			return d.syntax("no comma between elements")
		}
		d.frames[len(d.frames)-1].index++
		d.space()
	}
	d.before = true
	return true
}

func (d *Decoder) push(index int) bool {
	d.pos++
	if len(d.frames) >= MaxDepth {
		return d.syntax("nested deeper than " + strconv.Itoa(MaxDepth))
	}
	d.frames = append(d.frames, frame{index: index, outer: d.wrong})
	d.wrong = nil
	return true
}

// pop leaves an object or array; what is wrong in it is wrong with it.
func (d *Decoder) pop() bool {
	f := &d.frames[len(d.frames)-1]
	var first located
	for _, l := range f.wrong {
		if first.err == nil || l.err.undecodable && !first.err.undecodable || l.err.undecodable == first.err.undecodable && l.at < first.at {
			first = l
		}
	}
	d.wrong = worse(f.outer, worse(d.wrong, first.err))
	d.frames = d.frames[:len(d.frames)-1]
	return false
}

// worse is the first error, unless only the second makes a value undecodable.
func worse(first, second *Error) *Error {
	if first == nil || second != nil && second.undecodable && !first.undecodable {
		return second
	}
	return first
}

// settle files the error of the member that was just read under its name, or
// forgets that of an earlier member which this one replaces.
func (d *Decoder) settle() {
	f := &d.frames[len(d.frames)-1]
	switch {
	case d.wrong != nil:
		if f.wrong == nil {
			f.wrong = map[string]located{}
		}
		f.wrong[string(f.name)] = located{d.pos, d.wrong}
		d.wrong = nil
	case f.wrong != nil:
		delete(f.wrong, string(f.name))
	}
}

// Require reports a member that is missing in the object just read.
func (d *Decoder) Require(has bool, name string) {
	if !has {
		d.rule(segment(name), "must be there")
	}
}

// Fail reports that the value which was just read, or comes next, breaks a
// rule, though it has its type.
func (d *Decoder) Fail(rule string) { d.rule("", rule) }

// rule keeps an error that does not make the payload undecodable.
func (d *Decoder) rule(below, rule string) {
	if d.fatal == nil && d.wrong == nil {
		d.wrong = d.errorAt(d.pointer()+below, rule)
		d.wrong.undecodable = false
	}
}

// Unknown reports that the object must not have the member that comes next.
func (d *Decoder) Unknown() {
	d.Skip()
	d.fail("is not a member that the contract has")
}

// fail keeps the first error of a value; see worse.
func (d *Decoder) fail(rule string) {
	if d.fatal == nil && (d.wrong == nil || !d.wrong.undecodable) {
		d.wrong = d.errorAt(d.pointer(), rule)
	}
}

// syntax ends everything: what follows cannot be understood.
func (d *Decoder) syntax(what string) bool {
	d.before = false
	if d.fatal == nil {
		d.fatal = d.errorAt(d.pointer(), "is not valid JSON: "+what+" at byte "+strconv.Itoa(d.pos))
	}
	return false
}

func (d *Decoder) errorAt(pointer, rule string) *Error {
	return &Error{Problems: []Problem{{Pointer: pointer, Rule: rule}}, undecodable: true}
}

// pointer is the place of the value that is being read.
func (d *Decoder) pointer() string {
	var b []byte
	for _, f := range d.frames {
		if f.index >= 0 {
			b = strconv.AppendInt(append(b, '/'), int64(f.index), 10)
		} else if f.name != nil {
			b = append(b, segment(string(f.name))...)
		}
	}
	return string(b)
}

func (d *Decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// at reads c if it comes next.
func (d *Decoder) at(c byte) bool {
	if d.pos < len(d.data) && d.data[d.pos] == c {
		d.pos++
		return true
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
