package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// sample is a message of an operation, with what has to vary in it.
type sample struct {
	message *model.Message
	payload *value
	headers []sampleHeader
	// slot is the value in the payload that is to differ from message to
	// message, by the series; nil if it is a header or there is none.
	slot   *value
	series series
	// Varies reports whether messages can differ in their keys.
	varies bool
}

type sampleHeader struct {
	name, value string
	series      *series
}

// sampleOf makes the sample of the first message of an operation.
func sampleOf(op *model.Operation, index int) *sample {
	m := op.Messages[index]
	s := &sample{message: m}
	var shown map[string]string
	if len(m.Examples) > 0 {
		s.payload = parse(m.Examples[0].Payload)
		shown = m.Examples[0].Headers
	}
	if s.payload == nil {
		if s.payload = synthesise(m.Payload, m.Name); s.payload == nil {
			s.payload = &value{kind: jsonObject}
		}
	}
	for _, k := range op.Key {
		if k.Pointer != "" {
			ensure(m.Payload, s.payload, tokens(k.Pointer))
		}
	}
	s.fillHeaders(op, shown)
	if d := op.Dispatch; d != nil && index < len(d.Values) {
		if d.Header != "" {
			s.setHeader(d.Header, d.Values[index])
		} else if v := s.payload.at(d.Pointer); v != nil {
			*v = *text(d.Values[index])
		}
	}
	s.vary(op)
	return s
}

// fillHeaders adds the headers that the contract or the key requires.
func (s *sample) fillHeaders(op *model.Operation, shown map[string]string) {
	if h := s.message.Headers; h != nil {
		for _, f := range h.Fields {
			if v, ok := shown[f.Name]; ok {
				s.setHeader(f.Name, v)
			} else if f.Required {
				v := synthesise(f.Type, f.Name)
				if v == nil {
					v = text(f.Name)
				}
				s.setHeader(f.Name, v.scalarText())
			}
		}
	}
	for _, k := range op.Key {
		if k.Header == "" || s.header(k.Header) != nil {
			continue
		}
		v := text(k.Header)
		if t := s.headerType(k.Header); t.Kind != model.Raw {
			if made := synthesise(t, k.Header); made != nil {
				v = made
			}
		}
		s.setHeader(k.Header, v.scalarText())
	}
}

func (s *sample) headerType(name string) *model.Type {
	if h := s.message.Headers; h != nil {
		if f := fieldOf(h, name); f != nil {
			return f.Type
		}
	}
	return &model.Type{Kind: model.String}
}

func (s *sample) header(name string) *sampleHeader {
	for i := range s.headers {
		if s.headers[i].name == name {
			return &s.headers[i]
		}
	}
	return nil
}

func (s *sample) setHeader(name, value string) {
	if h := s.header(name); h != nil {
		h.value = value
		return
	}
	s.headers = append(s.headers, sampleHeader{name: name, value: value})
}

// vary chooses the part of the key that differs from message to message.
func (s *sample) vary(op *model.Operation) {
	reserved := func(k model.KeyPart) bool {
		d := op.Dispatch
		return d != nil && (k.Header != "" && k.Header == d.Header || k.Pointer != "" && k.Pointer == d.Pointer)
	}
	for _, k := range op.Key {
		if reserved(k) {
			continue
		}
		if k.Header != "" {
			h, t := s.header(k.Header), s.headerType(k.Header)
			like := text(h.value)
			if t.Kind != model.String {
				like = number(h.value)
			}
			if found, ok := vary(t, like); ok {
				h.series, s.varies = &found, true
				return
			}
			continue
		}
		v, t := s.payload.at(k.Pointer), typeAt(s.message.Payload, s.payload, tokens(k.Pointer))
		if v == nil || t == nil {
			continue
		}
		if found, ok := vary(t, v); ok {
			s.slot, s.series, s.varies = v, found, true
			return
		}
	}
}

// ensure adds what a path leads to, if the type has it.
func ensure(t *model.Type, v *value, path []string) {
	if len(path) == 0 || v.kind != jsonObject {
		return
	}
	t = concrete(t, v)
	next := memberType(t, path[0])
	if next == nil {
		return
	}
	m := v.member(path[0])
	if m == nil || m.kind == jsonNull {
		if m = synthesise(next, path[0]); m == nil {
			return
		}
		v.set(path[0], m)
	}
	ensure(next, m, path[1:])
}

// concrete follows unions to the variant that v is.
func concrete(t *model.Type, v *value) *model.Type {
	for range maxDepth {
		if t.Kind != model.Union {
			break
		}
		variant := variantOf(t, v)
		if variant == nil {
			break
		}
		t = variant
	}
	return t
}

func memberType(t *model.Type, name string) *model.Type {
	switch t.Kind {
	case model.Object:
		if f := fieldOf(t, name); f != nil {
			return f.Type
		}
		return t.Extra
	case model.MapOf:
		return t.Elem
	case model.Raw:
		return t
	}
	return nil
}

// typeAt is the type of what a path leads to, nil if it leads nowhere.
func typeAt(t *model.Type, v *value, path []string) *model.Type {
	for _, token := range path {
		if v == nil {
			return nil
		}
		t = concrete(t, v)
		if v.kind == jsonArray && t.Kind == model.Array {
			t = t.Elem
		} else if t = memberType(t, token); t == nil {
			return nil
		}
		v = v.at(pointerTo("", token))
	}
	return t
}

// concretePayload is the payload of the n-th message.
func (s *sample) concretePayload(n int) *value {
	if s.slot == nil {
		return s.payload
	}
	was := *s.slot
	*s.slot = *s.series.value(n)
	c := s.payload.clone()
	*s.slot = was
	return c
}

// format is the payload as a Go expression of a []byte in terms of n.
func (s *sample) format(indent string) string {
	if s.slot == nil {
		return "[]byte(" + goString(s.payload.write(indent, nil, "")) + ")"
	}
	slot := s.series.format
	if s.series.kind == jsonString {
		slot = quoteJSON(slot)
	}
	return fmt.Sprintf("fmt.Appendf(nil, %s, %s)", goString(s.payload.write(indent, s.slot, slot)), s.series.arg())
}

// headerList are the headers as elements of an []idem.Header.
func (s *sample) headerList() []string {
	var out []string
	for _, h := range s.headers {
		v := "[]byte(" + goString(h.value) + ")"
		if h.series != nil {
			v = fmt.Sprintf("fmt.Appendf(nil, %s, %s)", goString(h.series.format), h.series.arg())
		}
		out = append(out, fmt.Sprintf("{Name: %s, Value: %s}", strconv.Quote(h.name), v))
	}
	return out
}

// change is a replacement in the payload's text that changes its content but
// not its key. Both are "" if there is none.
type change struct{ old, new string }

// reuse finds a change that the fingerprint notices.
func (s *sample) reuse(op *model.Operation, indent string) change {
	if op.Fingerprint.None {
		return change{}
	}
	var found change
	s.walk(s.message.Payload, s.payload, "", 0, func(t *model.Type, v *value, pointer string) bool {
		path := tokens(pointer)
		name := quoteJSON(path[len(path)-1])
		for _, other := range others(t, v) {
			c := change{name + ": " + v.write("", nil, ""), name + ": " + other.write("", nil, "")}
			if s.works(op, c, indent) {
				found = c
				return true
			}
		}
		return false
	})
	if found.old == "" && len(op.Fingerprint.Pointers) == 0 && s.payload.kind == jsonObject {
		t := concrete(s.message.Payload, s.payload)
		name := "other"
		for fieldOf(t, name) != nil {
			name += "_"
		}
		c := change{"{", "{" + quoteJSON(name) + `: "content",`}
		if len(s.payload.members) == 0 {
			c.new = strings.TrimSuffix(c.new, ",")
		}
		open := t.Kind == model.Raw || t.Kind == model.Object && !t.Closed && t.Extra == nil
		if open && s.works(op, c, indent) {
			found = c
		}
	}
	return found
}

// works tries a change out.
func (s *sample) works(op *model.Operation, c change, indent string) bool {
	for _, n := range []int{0, 1, 12} {
		was := s.concretePayload(n)
		changed := parse([]byte(strings.Replace(was.write(indent, nil, ""), c.old, c.new, 1)))
		if changed == nil || changed.equal(was) || !conforms(s.message.Payload, changed) {
			return false
		}
		for _, k := range op.Key {
			if a, b := was.at(k.Pointer), changed.at(k.Pointer); k.Pointer != "" && (a == nil || b == nil || !a.equal(b)) {
				return false
			}
		}
		if d := op.Dispatch; d != nil && d.Pointer != "" {
			if a, b := was.at(d.Pointer), changed.at(d.Pointer); a == nil || b == nil || !a.equal(b) {
				return false
			}
		}
		if len(op.Fingerprint.Pointers) > 0 && !slices.ContainsFunc(op.Fingerprint.Pointers, func(p string) bool {
			a, b := was.at(p), changed.at(p)
			return a != nil && (b == nil || !a.equal(b))
		}) {
			return false
		}
	}
	return true
}

// walk visits the scalars in nested objects until visit returns true.
func (s *sample) walk(t *model.Type, v *value, pointer string, depth int, visit func(*model.Type, *value, string) bool) bool {
	t = concrete(t, v)
	if v.kind != jsonObject {
		return pointer != "" && v.kind != jsonArray && v.kind != jsonNull && visit(t, v, pointer)
	}
	if depth > maxDepth {
		return false
	}
	for _, m := range v.members {
		next := memberType(t, m.name)
		if next == nil {
			continue
		}
		if s.walk(next, m.value, pointerTo(pointer, m.name), depth+1, visit) {
			return true
		}
	}
	return false
}
