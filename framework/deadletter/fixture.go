package deadletter

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/idem-go/idem/framework/idem"
)

// Fixture is a dead letter as a test case: the gold test of idemtest plays the
// ones it finds in testdata/incidents. It holds the payload: look for personal
// data before it goes into a repository.
type Fixture struct {
	// Version of the format, 1.
	Version  int    `json:"idemFixture"`
	Consumer string `json:"consumer"`
	Topic    string `json:"topic"`
	// Expect is what the handler shall do with the message from now on: done or
	// dead_letter. An exported fixture says done: that is what is to be mended.
	Expect string `json:"expect"`
	// Failed is why it became a dead letter, for people.
	Failed struct {
		Reason   string     `json:"reason"`
		Class    idem.Class `json:"class"`
		Error    string     `json:"error"`
		Attempts int        `json:"attempts"`
	} `json:"failed"`
	Headers []FixtureHeader `json:"headers,omitempty"`
	// OrderingKey is the broker's, absent if there is none.
	OrderingKey []byte `json:"orderingKey,omitempty"`
	// Payload is the payload if it is JSON, with other white space than it had;
	// else PayloadBytes is.
	Payload      json.RawMessage `json:"payload,omitempty"`
	PayloadBytes []byte          `json:"payloadBytes,omitempty"`
}

// FixtureHeader is a header whose value is text, or else bytes.
type FixtureHeader struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
}

// What a fixture may expect.
const (
	ExpectDone       = "done"
	ExpectDeadLetter = "dead_letter"
)

// Export returns a dead letter as a fixture, as it is now: with the payload
// that a change has made. The export is audited, for the payload leaves the
// database.
func (s *Service) Export(ctx context.Context, id string, by By) (Fixture, error) {
	d, err := s.store.GetDeadLetter(ctx, id)
	if err != nil {
		return Fixture{}, err
	}
	err = s.store.Do(ctx, func(tx idem.Tx) error { return s.store.Audit(ctx, tx, by.entry(ActionExport, d, "")) })
	return FixtureOf(d), err
}

// FixtureOf returns a dead letter as a fixture.
func FixtureOf(d idem.DeadLetter) Fixture {
	f := Fixture{Version: 1, Consumer: d.Consumer, Topic: d.Topic, Expect: ExpectDone, OrderingKey: d.Envelope.Key}
	f.Failed.Reason, f.Failed.Class, f.Failed.Error, f.Failed.Attempts = d.Reason, d.Class, d.Error, d.Attempts
	for _, h := range d.Envelope.Headers {
		if utf8.Valid(h.Value) {
			f.Headers = append(f.Headers, FixtureHeader{Name: h.Name, Value: string(h.Value)})
		} else {
			f.Headers = append(f.Headers, FixtureHeader{Name: h.Name, Bytes: h.Value})
		}
	}
	if json.Valid(d.Payload) && utf8.Valid(d.Payload) {
		f.Payload = d.Payload
	} else {
		f.PayloadBytes = d.Payload
	}
	return f
}

// ParseFixture reads what [Service.Export] gave, as JSON.
func ParseFixture(text []byte) (Fixture, error) {
	var f Fixture
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("deadletter: fixture: %w", err)
	}
	switch {
	case f.Version != 1:
		return f, fmt.Errorf("deadletter: fixture: idemFixture is %d, this program knows 1: export it anew", f.Version)
	case f.Consumer == "":
		return f, fmt.Errorf("deadletter: fixture: consumer is missing")
	case f.Expect != ExpectDone && f.Expect != ExpectDeadLetter:
		return f, fmt.Errorf("deadletter: fixture: expect is %q, want %q or %q", f.Expect, ExpectDone, ExpectDeadLetter)
	}
	return f, nil
}

// Message returns the message's headers and payload.
func (f Fixture) Message() (headers []idem.Header, payload []byte) {
	for _, h := range f.Headers {
		value := h.Bytes
		if value == nil {
			value = []byte(h.Value)
		}
		headers = append(headers, idem.Header{Name: h.Name, Value: value})
	}
	if f.Payload != nil {
		return headers, f.Payload
	}
	return headers, f.PayloadBytes
}
