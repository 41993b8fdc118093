package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/contract"
)

type withOptional struct {
	A contract.Optional[string]   `json:"a,omitzero"`
	B contract.Optional[[]string] `json:"b,omitzero"`
}

// Absent, null, the zero value and others survive encoding/json.
func TestOptional(t *testing.T) {
	for text, want := range map[string]withOptional{
		`{}`:                  {},
		`{"a":null}`:          {A: contract.Null[string]()},
		`{"a":"","b":[]}`:     {A: contract.Of(""), B: contract.Of([]string{})},
		`{"a":"x","b":["y"]}`: {A: contract.Of("x"), B: contract.Of([]string{"y"})},
	} {
		var got withOptional
		if err := json.Unmarshal([]byte(text), &got); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s reads as %+v, %v", text, got, err)
		}
		if back, err := json.Marshal(want); err != nil || string(back) != text {
			t.Errorf("%s is written as %s, %v", text, back, err)
		}
	}
	if cmp.Equal(contract.Of(""), contract.Optional[string]{}) || cmp.Equal(contract.Null[string](), contract.Optional[string]{}) {
		t.Error("absent equals a value or null")
	}
	v, ok := contract.Null[string]().Get()
	if v != "" || ok || !contract.Null[string]().IsNull() || contract.Null[string]().IsZero() {
		t.Error("null is a value, or absent")
	}
	o := contract.Of("x")
	if err := json.Unmarshal([]byte(`1`), &o); err == nil {
		t.Error("a number is text")
	}
	if _, ok := o.Get(); ok {
		t.Error("what did not decode is a value")
	}
}

type checked struct{ err error }

func (c checked) Validate() error { return c.err }

func TestChecker(t *testing.T) {
	var inner contract.Checker
	inner.Check(false, "must be odd", "list", 3)
	inner.Check(true, "must be even", "list", 4)
	var c contract.Checker
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	c.Nested(inner.Err(), "z", 0, "a/b")
	c.Nested(nil, "y")
	c.Nested(errors.New("is strange"), "x")
	c.Check(false, "must be whole")
	err := c.Err()
	if want := "must be whole; /x: is strange; /z/0/a~1b/list/3: must be odd"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	var e *contract.Error
	if !errors.As(err, &e) || e.Undecodable() || len(e.Problems) != 3 {
		t.Errorf("%#v", err)
	}
	many := contract.Checker{}
	for i := range 1000 {
		many.Check(false, "is wrong", i)
	}
	outer := contract.Checker{}
	outer.Nested(many.Err(), "a")
	if text := outer.Err().Error(); !strings.HasSuffix(text, "; and 980 more") || len(text) > 1000 {
		t.Error(text)
	}
}

// Values that keep their rules cost no memory to check.
func TestChecksDoNotAllocate(t *testing.T) {
	list := []int{1, 2, 3, 1000}
	name := strings.Repeat("n", 10)
	n := testing.AllocsPerRun(100, func() {
		var c contract.Checker
		for i := range list {
			c.Check(list[i] > 0, "must be positive", "list", i+1000, name)
		}
		c.Nested(nil, name)
		if c.Err() != nil {
			t.Error("wrong")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDistinct(t *testing.T) {
	long := make([]int, 100)
	for i := range long {
		long[i] = i
	}
	if !contract.Distinct(long) || contract.Distinct(append(long, 50)) || contract.Distinct([]float64{0, math.Copysign(0, -1)}) {
		t.Error("numbers")
	}
	one, uno := 1, 1
	if contract.DistinctJSON([]*int{&one, &uno}) || contract.DistinctJSON([]*int{nil, nil}) || !contract.DistinctJSON([]*int{&one, nil}) || !contract.DistinctJSON[int](nil) {
		t.Error("pointers")
	}
	if contract.DistinctJSON([]json.RawMessage{[]byte(`{"a":1,"b":2}`), []byte(`{"b":2,"a":1.0}`)}) {
		t.Error("raw")
	}
	if !contract.OneOf("b", "a", "b") || contract.OneOf("c", "a", "b") {
		t.Error("one of")
	}
}

func TestPattern(t *testing.T) {
	p := contract.NewPattern("^a+")
	if !p.Match("aab") || p.Match("b") {
		t.Error("wrong match")
	}
	contract.NewPattern("(") // not compiled before it is used
}

func TestFloat(t *testing.T) {
	if got := contract.Float(float32(0.1)); got != 0.1 {
		t.Errorf("float32 0.1 is %v", got)
	}
	if got := contract.Float(0.1); got != 0.1 {
		t.Errorf("float64 0.1 is %v", got)
	}
	if contract.IsFinite(math.Inf(1)) || contract.IsFinite(math.NaN()) || !contract.IsFinite(math.MaxFloat64) {
		t.Error("finite")
	}
}

func TestMarshalExtra(t *testing.T) {
	type object struct {
		A int `json:"a,omitzero"`
	}
	for want, in := range map[string]struct {
		o object
		e map[string]any
	}{
		`{"a":1}`:                {object{1}, nil},
		`{"a":1,"b":null,"c":2}`: {object{1}, map[string]any{"c": 2, "b": nil}},
		`{"b":1}`:                {object{}, map[string]any{"b": 1}},
		`{}`:                     {object{}, map[string]any{}},
	} {
		if got, err := contract.MarshalExtra(in.o, in.e); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if _, err := contract.MarshalExtra(object{}, map[string]any{"x": math.NaN()}); err == nil {
		t.Error("NaN is written")
	}
}

type plainMessage struct {
	A int8             `json:"a"`
	B struct{ C bool } `json:"b"`
	checked
}

// Payloads of the user's own types count as undecodable, too, and no value
// gets into the error.
func TestDecodeOfOwnTypes(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1000}`:           "/a: must fit int8",
		`{"b":{"C":"secret"}}`: "/b/C: must fit bool",
		`{"a":1`:               "is not valid JSON: at byte 6",
		` null`:                "must not be null",
		``:                     "is not valid JSON: at byte 0",
	} {
		err := contract.Decode([]byte(text), &plainMessage{})
		var e *contract.Error
		if err == nil || err.Error() != want || !errors.As(err, &e) || !e.Undecodable() {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := contract.Decode([]byte(`{"a":1}`), &plainMessage{}); err != nil {
		t.Error(err)
	}
	if err := contract.Decode([]byte(`{"a":1}`), &plainMessage{checked: checked{fmt.Errorf("broken")}}); err == nil || err.Error() != "broken" {
		t.Error(err)
	}
}
