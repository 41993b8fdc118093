package conformance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// theirs is the envelope of a delivered message without our headers.
func theirs(msg *message.Message) idem.Envelope {
	d, _ := idem.DeliveryFrom(msg.Context())
	return idem.Envelope{Key: d.Envelope.Key, Headers: slices.DeleteFunc(slices.Clone(d.Envelope.Headers), func(h idem.Header) bool {
		return strings.HasPrefix(h.Name, idem.HeaderPrefix)
	})}
}

// wantEnvelope compares key and headers byte for byte; a nil key is not an empty one.
func wantEnvelope(w *World, what string, got, want idem.Envelope) {
	w.Helper()
	if !bytes.Equal(got.Key, want.Key) || (got.Key == nil) != (want.Key == nil) {
		w.Errorf("%s has the key %q (nil %v), want %q (nil %v)", what, got.Key, got.Key == nil, want.Key, want.Key == nil)
	}
	if !slices.EqualFunc(got.Headers, want.Headers, func(g, w idem.Header) bool { return g.Name == w.Name && bytes.Equal(g.Value, w.Value) }) {
		w.Errorf("%s has the headers %q, want %q", what, got.Headers, want.Headers)
	}
}

// sameBytes compares payloads in any order; nil is not empty.
func sameBytes(w *World, what string, got, want [][]byte) {
	w.Helper()
	for _, p := range want {
		n := 0
		for _, g := range got {
			if bytes.Equal(g, p) && (g == nil) == (p == nil) {
				n++
			}
		}
		if n != 1 {
			w.Errorf("%s: payload of %d bytes (nil %v) is there %d times, want once", what, len(p), p == nil, n)
		}
	}
	if len(got) != len(want) {
		w.Errorf("%s: %d, want %d", what, len(got), len(want))
	}
}
