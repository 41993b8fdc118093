package render

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
)

// value is a JSON value that keeps the order of members and the digits of
// numbers.
type value struct {
	kind    kind
	text    string // of a string, decoded; of a number, as written
	members []member
	items   []*value
}

type member struct {
	name  string
	value *value
}

type kind int

const (
	jsonNull kind = iota
	jsonFalse
	jsonTrue
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

func text(s string) *value   { return &value{kind: jsonString, text: s} }
func number(s string) *value { return &value{kind: jsonNumber, text: s} }

func boolean(b bool) *value {
	if b {
		return &value{kind: jsonTrue}
	}
	return &value{kind: jsonFalse}
}

// parse returns nil if the text is not one JSON value.
func parse(body []byte) *value {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, ok := read(d)
	if _, err := d.Token(); !ok || err != io.EOF {
		return nil
	}
	return v
}

func read(d *json.Decoder) (*value, bool) {
	t, err := d.Token()
	if err != nil {
		return nil, false
	}
	switch t := t.(type) {
	case bool:
		return boolean(t), true
	case json.Number:
		return number(t.String()), true
	case string:
		return text(t), true
	case json.Delim:
		if t == '[' {
			return readArray(d)
		}
		return readObject(d)
	}
	return &value{}, true
}

func readArray(d *json.Decoder) (*value, bool) {
	v := &value{kind: jsonArray}
	for d.More() {
		item, ok := read(d)
		if !ok {
			return nil, false
		}
		v.items = append(v.items, item)
	}
	_, err := d.Token()
	return v, err == nil
}

func readObject(d *json.Decoder) (*value, bool) {
	v := &value{kind: jsonObject}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		item, ok := read(d)
		if !ok {
			return nil, false
		}
		v.set(name.(string), item) //nolint:forcetypeassert // the decoder gives nothing else here
	}
	_, err := d.Token()
	return v, err == nil
}

// member returns the named member, or nil.
func (v *value) member(name string) *value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (v *value) set(name string, to *value) {
	for i, m := range v.members {
		if m.name == name {
			v.members[i].value = to
			return
		}
	}
	v.members = append(v.members, member{name, to})
}

// at returns what a JSON pointer points to, or nil.
func (v *value) at(pointer string) *value {
	for _, token := range tokens(pointer) {
		switch {
		case v == nil:
			return nil
		case v.kind == jsonObject:
			v = v.member(token)
		case v.kind == jsonArray:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		default:
			return nil
		}
	}
	return v
}

// size is how many values v is made of.
func (v *value) size() int {
	n := 1
	for _, item := range v.items {
		n += item.size()
	}
	for _, m := range v.members {
		n += m.value.size()
	}
	return n
}

func (v *value) clone() *value {
	if v == nil {
		return nil
	}
	c := &value{kind: v.kind, text: v.text}
	for _, m := range v.members {
		c.members = append(c.members, member{m.name, m.value.clone()})
	}
	for _, i := range v.items {
		c.items = append(c.items, i.clone())
	}
	return c
}

// scalarText is the text of a scalar as a header carries it.
func (v *value) scalarText() string {
	switch v.kind {
	case jsonString, jsonNumber:
		return v.text
	case jsonTrue:
		return "true"
	case jsonFalse:
		return "false"
	default:
		return ""
	}
}

// write writes JSON for people: one member a line. The slot, if there is one,
// is written as it is and everything else as part of a format of package fmt.
func (v *value) write(indent string, slot *value, slotText string) string {
	var b strings.Builder
	w := writer{&b, slot, slotText}
	w.value(v, "\n"+indent)
	return b.String()
}

type writer struct {
	*strings.Builder
	slot     *value
	slotText string
}

func (w writer) quote(s string) {
	q := quoteJSON(s)
	if w.slot != nil {
		q = strings.ReplaceAll(q, "%", "%%")
	}
	w.WriteString(q)
}

func (w writer) value(v *value, newLine string) {
	if v == w.slot && v != nil {
		w.WriteString(w.slotText)
		return
	}
	switch v.kind {
	case jsonNull:
		w.WriteString("null")
	case jsonFalse, jsonTrue:
		w.WriteString(v.scalarText())
	case jsonNumber:
		w.WriteString(v.text)
	case jsonString:
		w.quote(v.text)
	case jsonArray:
		w.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				w.WriteString(", ")
			}
			w.value(item, newLine+"\t")
		}
		w.WriteByte(']')
	case jsonObject:
		w.WriteByte('{')
		for i, m := range v.members {
			if i > 0 {
				w.WriteByte(',')
			}
			w.WriteString(newLine + "\t")
			w.quote(m.name)
			w.WriteString(": ")
			w.value(m.value, newLine+"\t")
		}
		if len(v.members) > 0 {
			w.WriteString(newLine)
		}
		w.WriteByte('}')
	}
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// tokens splits a JSON pointer.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range list {
		list[i] = unescapePointer.Replace(list[i])
	}
	return list
}

// pointerTo extends a JSON pointer.
func pointerTo(pointer, token string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// equal reports whether two values are the same JSON, digit by digit.
func (v *value) equal(o *value) bool {
	return v.kind == o.kind && v.text == o.text &&
		slices.EqualFunc(v.items, o.items, (*value).equal) &&
		len(v.members) == len(o.members) &&
		!slices.ContainsFunc(v.members, func(m member) bool {
			other := o.member(m.name)
			return other == nil || !m.value.equal(other)
		})
}
