package difftest

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/contract"
)

// What is absent, null, zero or extreme is written and read as just that.
func TestRoundTripOfValues(t *testing.T) {
	var zero int64
	for _, test := range []struct {
		value, read message
		text        string
	}{
		{
			&Presence{List: []string{}, Raw: json.RawMessage("null")}, new(Presence),
			`{"required":0,"nullable":null,"list":[],"nullableList":null,"object":{"x":0,"y":0},"nullableObject":null,"raw":null}`,
		},
		{
			&Presence{
				Nullable: &zero, Optional: &zero, Both: contract.Of[int64](0), List: []string{""}, NullableList: []string{""}, OptionalList: []string{""},
				BothList: contract.Of([]string{""}), NullableObject: &PresenceNullableObject{}, OptionalObject: &Point{}, BothObject: contract.Of(PresenceBothObject{"x"}),
				Raw: json.RawMessage("0"), OptionalRaw: json.RawMessage("null"), BothMap: contract.Of(map[string]bool{}), OrNothing: contract.Of(Point{}), Flag: contract.Of(false),
			}, new(Presence),
			`{"required":0,"nullable":0,"optional":0,"both":0,"list":[""],"nullableList":[""],"optionalList":[""],"bothList":[""],"object":{"x":0,"y":0},` +
				`"nullableObject":{"a":false},"optionalObject":{"x":0,"y":0},"bothObject":{"a":"x"},"raw":0,"optionalRaw":null,"bothMap":{},"orNothing":{"x":0,"y":0},"flag":false}`,
		},
		{
			&Presence{
				Both: contract.Null[int64](), List: []string{}, BothList: contract.Null[[]string](), BothObject: contract.Null[PresenceBothObject](),
				Raw: json.RawMessage("[]"), BothMap: contract.Null[map[string]bool](), OrNothing: contract.Null[Point](), Flag: contract.Null[bool](),
			}, new(Presence),
			`{"required":0,"nullable":null,"both":null,"list":[],"nullableList":null,"bothList":null,"object":{"x":0,"y":0},"nullableObject":null,` +
				`"bothObject":null,"raw":[],"bothMap":null,"orNothing":null,"flag":null}`,
		},
		{
			&Integers{Any: new(int64(math.MinInt64)), Extremes: new(int64(math.MaxInt64)), Unsigned: new(uint64(math.MaxUint64))}, new(Integers),
			`{"any":-9223372036854775808,"extremes":9223372036854775807,"unsigned":18446744073709551615}`,
		},
		{&Numbers{Any: new(math.MaxFloat64), Large: new(-math.SmallestNonzeroFloat64)}, new(Numbers), `{"any":1.7976931348623157e+308,"large":-5e-324}`},
		{
			&Extra{A: "x", Extra: map[string]*int64{"z": &zero, "b": nil}}, new(Extra), `{"a":"x","b":null,"z":0}`,
		},
		{&Names{ComVirgula: 1, Aspas: contract.Null[int64](), AB: []int64{}, X002D: &zero}, new(Names), `{"-":0,"validate":0,"a'b":[],"aspas\"":null,"com,vírgula":1}`},
		{&Shape{Group: &Group{Kind: "group", Shapes: []Shape{}, First: contract.Null[Shape]()}}, new(Shape), `{"kind":"group","shapes":[],"first":null}`},
		{&Table{"a": nil}, new(Table), `{"a":null}`},
	} {
		if err := test.value.Validate(); err != nil {
			t.Errorf("%s: %v", test.text, err)
		}
		text, err := json.Marshal(test.value)
		if err != nil || string(text) != test.text {
			t.Errorf("%T is written as\n%s, %v, want\n%s", test.value, text, err, test.text)
		}
		if err := json.Unmarshal([]byte(test.text), test.read); err != nil {
			t.Errorf("%s: %v", test.text, err)
		}
		if diff := cmp.Diff(test.value, test.read); diff != "" {
			t.Errorf("%s (-written +read)\n%s", test.text, diff)
		}
	}
}

// Values made in Go are checked for what JSON could not even say.
func TestValuesMadeInGo(t *testing.T) {
	for _, test := range []struct {
		value interface{ Validate() error }
		want  string
	}{
		{Presence{}, "/list: must be there; /raw: must be there"},
		{Lists{Matrix: [][]float64{nil}, Cubes: [][][]string{{nil}}, Any: []json.RawMessage{nil}}, "/any/0: must be there; /cubes/0/0: must be there; /matrix/0: must have at least 1 element"},
		{Numbers{Any: new(math.NaN()), Ratio: new(math.Inf(1))}, "/any: must be a finite number; /ratio: must be a finite number; /ratio: must be at most 1"},
		{Extra{Extra: map[string]*int64{"a": nil}}, "/a: has a field of its own"},
		{Shape{}, "must have exactly one variant"},
		{MixedValue{Text: new("x"), Bool: new(true)}, "must have exactly one variant"},
		{List(nil), "must have at least 1 element"},
		{Table(nil), "must be there"},
		{EnumsStatus("x"), "must be one of the contract's values"},
		{Presence{List: []string{}, Raw: json.RawMessage("1"), BothMap: contract.Of[map[string]bool](nil)}, "/bothMap: must be there"},
	} {
		if err := test.value.Validate(); err == nil || err.Error() != test.want {
			t.Errorf("%#v: %v, want %s", test.value, err, test.want)
		}
	}
	if !EnumsStatusPago.Known() || EnumsStatus("x").Known() {
		t.Error("Known")
	}
}

// Errors of decoding say where, and that the payload is not even of the type
// unless only members are missing; no value is in them.
func TestErrorsOfDecoding(t *testing.T) {
	const secret = "4111-1111"
	for text, want := range map[string]string{
		`{"id":"4111-1111"}`:                                     "/customer: must be there",
		`{"id":{"n":"4111-1111"}}`:                               "/id: must be a string, is an object",
		`{"items":[{"sku":"4111-1111","quantity":"4111-1111"}]}`: "/items/0/quantity: must be a number, is a string",
		`{"total":4111.1111}`:                                    "/total: must be an integer",
		`"4111-1111"`:                                            "must be an object, is a string",
		`{"id":"4111-1111`:                                       "/id: is not valid JSON: text without end at byte 16",
		`null`:                                                   "must be an object, is null",
		``:                                                       "is not valid JSON: no value at byte 0",
	} {
		err := new(Order).UnmarshalJSON([]byte(text))
		var e *contract.Error
		if err == nil || err.Error() != want || !errors.As(err, &e) || e.Undecodable() == strings.HasSuffix(want, "must be there") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error has a value: %v", text, err)
		}
	}
	var o Order
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		t.Fatal(err)
	}
	o.Customer, o.ID = strings.Repeat(secret, 10), secret
	var e *contract.Error
	if err := o.Validate(); !errors.As(err, &e) || e.Undecodable() || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
}

const order = `{
	"id": "018f0000-0000-7000-8000-000000000000", "customer": "Maria da Conceição", "created": "2026-01-31T15:04:05.123Z",
	"total": 123456, "currency": "BRL", "note": null,
	"items": [
		{"sku": "ABC-001", "quantity": 1, "price": 100000, "tags": ["new", "blue"]},
		{"sku": "ABC-002", "quantity": 10, "price": 2000, "tags": []},
		{"sku": "ABC-003", "quantity": 1, "price": 3456}
	]
}`

// plainOrder is what one would write without idemgen.
type plainOrder struct {
	ID       string  `json:"id"`
	Customer string  `json:"customer"`
	Created  string  `json:"created"`
	Total    int64   `json:"total"`
	Currency *string `json:"currency,omitempty"`
	Note     *string `json:"note,omitempty"`
	Items    []struct {
		SKU      string   `json:"sku"`
		Quantity int64    `json:"quantity"`
		Price    int64    `json:"price"`
		Tags     []string `json:"tags,omitempty"`
	} `json:"items"`
}

func BenchmarkOrder(b *testing.B) {
	data := []byte(order)
	var o Order
	if err := o.UnmarshalJSON(data); err != nil {
		b.Fatal(err)
	}
	b.Run("encoding-json-plain-struct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var o plainOrder
			if err := json.Unmarshal(data, &o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var o Order
			if err := o.UnmarshalJSON(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("generated-and-validated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var o Order
			if err := contract.Decode(data, &o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("validate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := o.Validate(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
