package difftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/framework/contract"
)

// numbers says what of a text cannot be compared: a number of a float64 that is
// written with more digits than that has, integers beyond 64 bits, and those
// that the other validator would compute with for long.
type numbers struct{ inexact, beyondInt64, absurd bool }

func (n *numbers) look(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n.look(e)
		}
	case []any:
		for _, e := range v {
			n.look(e)
		}
	case json.Number:
		s := v.String()
		if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(strings.TrimLeft(exponent, "+-0")) > 3 || len(s) > 500 {
			n.absurd = true
			return
		}
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			n.absurd = true
			return
		}
		f, err := strconv.ParseFloat(s, 64)
		short, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		n.inexact = n.inexact || err != nil || short.Cmp(r) != 0
		n.beyondInt64 = n.beyondInt64 || r.IsInt() && !r.Num().IsInt64()
	}
}

// compare decodes and validates a text in both ways.
func compare(t *testing.T, c *target, data []byte) (accepted bool) {
	t.Helper()
	m := c.new()
	ours := m.UnmarshalJSON(data)
	if ours == nil {
		ours = m.Validate()
	}
	value, theirs := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	var n numbers
	if n.look(value); n.absurd || n.inexact && c.floats || depth(data) > contract.MaxDepth {
		return false
	}
	if theirs == nil {
		theirs = c.schema.Validate(value)
	}
	if theirs == nil && ours != nil && n.beyondInt64 {
		return false
	}
	if (ours == nil) != (theirs == nil) {
		t.Errorf("%s %s\n ours: %v\ntheirs: %v", c.name, data, ours, theirs)
		return false
	}
	if ours == nil {
		roundTrip(t, c, m, data)
	}
	return ours == nil
}

func depth(data []byte) int {
	return strings.Count(string(data), "[") + strings.Count(string(data), "{")
}

// roundTrip writes what was read, and reads that.
func roundTrip(t *testing.T, c *target, m message, data []byte) {
	t.Helper()
	first, err := json.Marshal(m)
	if err != nil {
		t.Fatalf("%s %s: %v", c.name, data, err)
	}
	again := c.new()
	if err := again.UnmarshalJSON(first); err != nil {
		if c.loses && strings.Contains(err.Error(), "equal elements") {
			return
		}
		t.Fatalf("%s %s is written as %s: %v", c.name, data, first, err)
	}
	if err := again.Validate(); err != nil {
		t.Fatalf("%s %s is written as %s: %v", c.name, data, first, err)
	}
	if !c.raw && !reflect.DeepEqual(m, again) {
		t.Fatalf("%s %s is written as %s and read as %+v, was %+v", c.name, data, first, again, m)
	}
	second, err := json.Marshal(again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%s %s is written as %s, then as %s (%v)", c.name, data, first, second, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(first))
	if err == nil {
		err = c.schema.Validate(value)
	}
	if err != nil {
		t.Fatalf("%s %s is written as %s: %v", c.name, data, first, err)
	}
}

// Random documents are accepted by the generated code if and only if the
// validator accepts them, and survive a round trip. Of each message both
// happens.
func TestDifferences(t *testing.T) {
	perMessage := 2000
	if testing.Short() {
		perMessage = 300
	}
	for _, c := range targets(t) {
		t.Run(c.name, func(t *testing.T) {
			accepted := 0
			for i := range perMessage {
				if compare(t, c, []byte(generate(c.typ, uint64(i)))) {
					accepted++
				}
				if t.Failed() {
					t.FailNow()
				}
			}
			if share := 100 * accepted / perMessage; share < 5 || share == 100 && c.name != "raw" {
				t.Errorf("%d%% accepted", share)
			}
		})
	}
}

// Seeds for the fuzzing below.
func FuzzGenerated(f *testing.F) {
	list := targets(f)
	for i := range list {
		f.Add(uint8(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64) {
		c := list[int(which)%len(list)]
		for i := range uint64(20) {
			compare(t, c, []byte(generate(c.typ, seed+i<<32)))
		}
	})
}

func FuzzText(f *testing.F) {
	list := targets(f)
	for i, c := range list {
		for n := range uint64(12) {
			f.Add(uint8(i), []byte(generate(c.typ, 1000+n)))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		compare(t, list[int(which)%len(list)], data)
	})
}

func ExampleOrder_Validate() {
	var o Order
	err := o.UnmarshalJSON([]byte(`{"id":"x","customer":"","created":"2026-01-31T15:04:05Z","total":1.0,"items":[{"sku":"a b","quantity":0,"price":1}]}`))
	fmt.Println(err)
	fmt.Println(o.Validate())
	// Output:
	// <nil>
	// /customer: must not be empty; /id: must have the format uuid; /items/0/quantity: must be at least 1; /items/0/sku: must match ^[A-Z0-9-]+$
}
