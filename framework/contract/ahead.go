package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// glimpse is what is known of an object or array ahead of time. The digest is
// "" as long as nobody needed it.
type glimpse struct {
	end    int
	digest string
}

// ahead returns a decoder at the same place that can be thrown away.
func (d *Decoder) ahead() *Decoder {
	if d.seen == nil {
		d.seen = map[int]glimpse{}
	}
	return &Decoder{data: d.data, pos: d.pos, before: true, frames: d.frames[:len(d.frames):len(d.frames)], seen: d.seen}
}

// Discriminator returns the text, or number, of the named member of the object
// that comes next, without reading it; "" is no such member or no object.
func (d *Decoder) Discriminator(name string) string {
	if d.Kind() != KindObject {
		return ""
	}
	a := d.ahead()
	value := ""
	for a.Object() {
		if string(a.Name()) != name {
			a.Skip()
			continue
		}
		switch a.Kind() {
		case KindString:
			value = a.String()
		case KindNumber:
			value = ""
			a.before = false
			if n := a.number(); n != nil {
				value = parseDecimal(n).plain()
			}
		default:
			value = ""
			a.Skip()
		}
	}
	return value
}

// NoVariant skips a value that is none of those that a union allows, and
// reports it. The discriminator is the member that names the variant, or "".
func (d *Decoder) NoVariant(discriminator string) {
	kind := d.Kind()
	switch {
	case discriminator == "":
		d.fail("must not be " + kind.String())
	case kind != KindObject:
		d.fail("must be " + KindObject.String() + ", is " + kind.String())
	case d.fatal == nil && d.wrong == nil:
		d.wrong = d.errorAt(d.pointer()+segment(discriminator), "must name a variant that the contract has")
	}
	d.Skip()
}

// Unique reports if the array that comes next has equal elements: equal as
// JSON, whatever the order of members and the form of numbers. It does not
// read the array.
func (d *Decoder) Unique() {
	if d.Kind() == KindArray && !d.ahead().unique() {
		d.Fail("must have no two equal elements")
	}
}

func (d *Decoder) unique() bool {
	digests := map[string]struct{}{}
	n := 0
	for d.Array() {
		digests[d.digest()] = struct{}{}
		n++
	}
	return d.fatal != nil || len(digests) == n
}

// digest reads a value and returns what equal values, and only those, have in
// common.
func (d *Decoder) digest() string {
	begin, kind := d.pos, d.Kind()
	if known := d.seen[begin]; known.digest != "" {
		d.pos, d.before = known.end, false
		return known.digest
	}
	switch kind {
	case KindString:
		return "s" + d.String()
	case KindNumber:
		d.before = false
		if n := d.number(); n != nil {
			return parseDecimal(n).String()
		}
		return ""
	case KindArray, KindObject:
		h := sha256.New()
		write := func(s string) {
			var size [8]byte
			binary.BigEndian.PutUint64(size[:], uint64(len(s)))
			h.Write(size[:])
			h.Write([]byte(s))
		}
		if kind == KindArray {
			for d.Array() {
				write(d.digest())
			}
		} else {
			members := map[string]string{}
			for d.Object() {
				name := string(d.Name())
				members[name] = d.digest()
			}
			for _, name := range slices.Sorted(maps.Keys(members)) {
				write(name)
				write(members[name])
			}
		}
		digest := kind.String() + string(h.Sum(nil))
		d.seen[begin] = glimpse{d.pos, digest}
		return digest
	default:
		d.Skip()
		if kind == KindBool {
			return string(d.data[begin:min(d.pos, len(d.data))])
		}
		return kind.String()
	}
}
