package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/idem-go/idem/framework/contract"
)

// decodeAny reads any value as encoding/json does with numbers kept as text.
func decodeAny(d *contract.Decoder) any {
	switch d.Kind() {
	case contract.KindObject:
		m := map[string]any{}
		for d.Object() {
			name := string(d.Name())
			m[name] = decodeAny(d)
		}
		return m
	case contract.KindArray:
		list := []any{}
		for d.Array() {
			list = append(list, decodeAny(d))
		}
		return list
	case contract.KindString:
		return d.String()
	case contract.KindBool:
		return d.Bool()
	case contract.KindNumber:
		return json.Number(d.Raw())
	case contract.KindNull:
		d.Null()
		return nil
	default:
		d.Skip()
		return nil
	}
}

func std(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if !json.Valid(data) {
		return nil, errors.New("text after the value")
	}
	return v, nil
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

var documents = []string{
	``, ` `, `null`, ` null `, `nul`, `nulls`, `true`, `false`, `falsy`, `0`, `-0`, `01`, `-`, `1.`, `.1`, `1.5e`, `1e+5`, `1E-5`, `+1`, `1e400`,
	`""`, `"`, `"a`, `"\`, `"\u`, `"\u12`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ude00"`, `"\ud83dx"`, `"\q"`, "\"\x01\"",
	"\"\xff\"", "\"a\xe2\x28b\"", "\"\xed\xa0\x80\"", "\"\x7f\u2028\"", `"\"\\\/\b\f\n\r\t"`, "\"\xf0\x9f\x98\x80\"",
	`[]`, `[ ]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[`, `]`, `[[],[[]]]`, `[1,"a",null,true,{}]`,
	`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1,"a":2}`, `{"a":{"b":[{"c":1}]}}`,
	`{"a":1}x`, `{"a":1} {}`, `{"\u0061":1}`, "{\"a\xff\":1}", `{"A":1,"a":2}`, "\ufeff{}", "\t\r\n[\n1\t,\r2 ]", "\v1", "1\x00",
	`{"a":[{"a":1,"a":[2,{"x":"y"}]}],"b":"\u00e9"}`,
	deep(998), deep(1000), deep(1001), strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000),
	strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001),
}

// tooDeep says whether a text goes deeper than a decoder does.
func tooDeep(data []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '[', c == '{':
			if depth++; depth > contract.MaxDepth {
				return true
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return false
}

// A decoder takes what encoding/json takes, and reads the same, whether values
// are read, skipped or kept raw.
func FuzzDecoder(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		want, err := std(data)
		ok := err == nil && !tooDeep(data)

		d := contract.NewDecoder(data)
		got := decodeAny(d)
		if err := d.End(); (err == nil) != ok {
			t.Fatalf("reading: %v, encoding/json takes it: %v", err, ok)
		}
		if ok && !reflect.DeepEqual(got, want) {
			t.Errorf("read %#v, encoding/json %#v", got, want)
		}
		d = contract.NewDecoder(data)
		raw := d.Raw()
		if err := d.End(); (err == nil) != ok {
			t.Fatalf("skipping: %v, encoding/json takes it: %v", err, ok)
		}
		if ok && !bytes.Equal(raw, bytes.Trim(data, " \t\r\n")) {
			t.Errorf("raw is %q of %q", raw, data)
		}
		d = contract.NewDecoder(data)
		d.Discriminator("a")
		d.Unique()
		again := decodeAny(d)
		if err := d.End(); ok && err == nil && !reflect.DeepEqual(again, want) {
			t.Errorf("looking ahead changed what is read: %#v, want %#v", again, want)
		}
		if !bytes.Equal(before, data) {
			t.Error("the data was changed")
		}
	})
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		text  string
		i     int64
		u     uint64
		iFail string
		uFail string
	}{
		{text: "0"}, {text: "-0"}, {text: "0.0"}, {text: "-0.000e5"}, {text: "0e9999999999"},
		{text: "1.0", i: 1, u: 1}, {text: "1e2", i: 100, u: 100}, {text: "1.50e1", i: 15, u: 15}, {text: "1200e-2", i: 12, u: 12},
		{text: "9007199254740993", i: 9007199254740993, u: 9007199254740993},
		{text: "9223372036854775807", i: math.MaxInt64, u: math.MaxInt64},
		{text: "9223372036854775807.0", i: math.MaxInt64, u: math.MaxInt64},
		{text: "-9223372036854775808", i: math.MinInt64, uFail: "without sign"},
		{text: "-9223372036854775808.0", i: math.MinInt64, uFail: "without sign"},
		{text: "-922337203685477580.8e1", i: math.MinInt64, uFail: "without sign"},
		{text: "9223372036854775808", iFail: "64 bits", u: 1 << 63},
		{text: "9223372036854775808.0", iFail: "64 bits", u: 1 << 63},
		{text: "-9223372036854775809", iFail: "64 bits", uFail: "without sign"},
		{text: "18446744073709551615", iFail: "64 bits", u: math.MaxUint64},
		{text: "1844674407370955161.5e1", iFail: "64 bits", u: math.MaxUint64},
		{text: "18446744073709551616", iFail: "64 bits", uFail: "64 bits"},
		{text: "1e19", iFail: "64 bits", u: 1e19}, {text: "1e20", iFail: "64 bits", uFail: "64 bits"},
		{text: "1e99999999999999999999", iFail: "64 bits", uFail: "64 bits"},
		{text: "1.5", iFail: "an integer", uFail: "an integer"}, {text: "1e-1", iFail: "an integer", uFail: "an integer"},
		{text: "1e-99999999999999999999", iFail: "an integer", uFail: "an integer"},
		{text: `"1"`, iFail: "must be a number, is a string", uFail: "must be a number"},
		{text: "null", iFail: "must be a number, is null", uFail: "must be a number"},
	} {
		check := func(what string, got, want any, err error, fail string) {
			t.Helper()
			switch {
			case fail == "" && err != nil:
				t.Errorf("%s as %s: %v", test.text, what, err)
			case fail != "" && (err == nil || !strings.Contains(err.Error(), fail)):
				t.Errorf("%s as %s: %v, want %q", test.text, what, err, fail)
			case fail == "" && got != want:
				t.Errorf("%s as %s is %d, want %d", test.text, what, got, want)
			}
		}
		d := contract.NewDecoder([]byte(test.text))
		i := d.Int()
		check("int64", i, test.i, d.End(), test.iFail)
		d = contract.NewDecoder([]byte(test.text))
		u := d.Uint()
		check("uint64", u, test.u, d.End(), test.uFail)
	}
}

// point is decoded as generated code does it.
type point struct{ x, y int64 }

func (p *point) decode(d *contract.Decoder) {
	*p = point{}
	var has struct{ x bool }
	for d.Object() {
		switch string(d.Name()) {
		case "x":
			has.x = true
			p.x = d.Int()
		case "y":
			p.y = d.Int()
		default:
			d.Unknown()
		}
	}
	d.Require(has.x, "x")
}

// The last of several members of one name counts, all of it: an earlier one
// neither lives on in it nor spoils it.
func TestLastMemberWins(t *testing.T) {
	read := func(text string) (map[string]point, error) {
		m := map[string]point{}
		d := contract.NewDecoder([]byte(text))
		for d.Object() {
			name := string(d.Name())
			var p point
			p.decode(d)
			m[name] = p
		}
		return m, d.End()
	}
	for _, text := range []string{
		`{"a":{"x":1,"y":2},"a":{"x":1}}`,
		`{"a":{"y":2},"a":{"x":1}}`,
		`{"a":7,"a":{"x":1}}`,
		`{"a":{"x":"no"},"a":{"x":1}}`,
		`{"a":{"x":1,"z":1},"a":{"x":1}}`,
		`{"a":{"x":"no","x":null,"x":1}}`,
		`{"a":{"x":"no"},"b":7,"b":{"x":2},"a":{"x":1}}`,
	} {
		got, err := read(text)
		if err != nil || got["a"] != (point{x: 1}) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{"a":{"x":1},"a":7}`:                   "/a: must be an object, is a number",
		`{"a":{"x":1,"x":"no"}}`:                "/a/x: must be a number, is a string",
		`{"a":{"x":true},"b":{"x":1},"b":[]}`:   "/a/x: must be a number, is a boolean",
		`{"a":{"x":1,"z":1,"z":2}}`:             "/a/z: is not a member that the contract has",
		`{"a":{},"b":{"x":"no"}}`:               "/b/x: must be a number, is a string",
		`{"a":{"y":"no"},"b":{}}`:               "/a/y: must be a number, is a string",
		`{"a":{"x":1},"b":{"y":1},"a":{"y":1}}`: "/b/x: must be there",
		`{"a~/":{"x":1.5}}`:                     "/a~0~1/x: must be an integer",
		`{"a":{"x":1}`:                          "/a: is not valid JSON: no comma between members at byte 12",
		`{"a":{"x":1,"x":tru}}`:                 "/a/x: is not valid JSON: no value at byte 16",
		"{\"a\\n\u202e\":1}":                    `/a\n\u202e: must be an object, is a number`,
		`{"` + strings.Repeat("ç", 50) + `":1}`: "/" + strings.Repeat("ç", 32) + "…: must be an object, is a number",
	} {
		_, err := read(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		var e *contract.Error
		if missing := strings.HasSuffix(want, "must be there"); !errors.As(err, &e) || e.Undecodable() == missing {
			t.Errorf("%s: %v counts as undecodable: %v, want %v", text, err, e.Undecodable(), !missing)
		}
	}
}

// An error of an element stays though a later element has members that
// replace each other.
func TestErrorsOfElementsStay(t *testing.T) {
	d := contract.NewDecoder([]byte(`[{},{"x":"no"},{"x":"no","x":1},{"x":1},{}]`))
	n := 0
	for d.Array() {
		var p point
		p.decode(d)
		n++
	}
	if err := d.End(); err == nil || err.Error() != "/1/x: must be a number, is a string" || n != 5 {
		t.Errorf("%v after %d elements", err, n)
	}
}

func TestDiscriminator(t *testing.T) {
	for text, want := range map[string]string{
		`{"t":"a"}`: "a", `{"x":[{"t":"b"}],"t":"a"}`: "a", `{"t":"a","t":"b"}`: "b", `{"t":"a","t":null}`: "", `{"t":1.0}`: "1", `{"t":-1e1}`: "-10",
		`{"T":"a"}`: "", `{}`: "", `[]`: "", `"t"`: "", `{"\u0074":"\u0061"}`: "a", `{"t":true}`: "",
	} {
		d := contract.NewDecoder([]byte(text))
		if got := d.Discriminator("t"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		d.Skip()
		if err := d.End(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestUnique(t *testing.T) {
	for text, unique := range map[string]bool{
		`[]`: true, `[1]`: true, `[1,1]`: false, `[1,1.0]`: false, `[1,10e-1]`: false, `[100,1e2]`: false, `[0,-0]`: false, `[1,"1"]`: true,
		`["a","\u0061"]`: false, `[null,null]`: false, `[null,false,0,"",[],{}]`: true, `[true,true]`: false, `[true,false]`: true,
		`[{"a":1,"b":2},{"b":2,"a":1.0}]`: false, `[{"a":1},{"a":1,"b":1}]`: true, `[{"a":2,"a":1},{"a":1}]`: false,
		`[["a","b"],["ab"]]`: true, `[["a"],["a"]]`: false, `[[],[[]]]`: true, `[{"a":{}},{"a":[]}]`: true, `[{"ab":"c"},{"a":"bc"}]`: true,
		`[0.1,0.10]`: false, `[1e400,10e399]`: false, `[9007199254740993,9007199254740992]`: true,
	} {
		d := contract.NewDecoder([]byte(text))
		d.Unique()
		d.Skip()
		if err := d.End(); (err == nil) != unique {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Looking ahead costs no more for being done at every level.
func TestLookingAheadIsLinear(t *testing.T) {
	const depth, width = contract.MaxDepth - 1, 2000
	inner := strings.Repeat(`{"x":1},`, width) + `{"x":1}`
	text := strings.Repeat(`[0,`, depth) + inner + strings.Repeat(`]`, depth)
	d := contract.NewDecoder([]byte(text))
	reads := testing.AllocsPerRun(1, func() {
		d = contract.NewDecoder([]byte(text))
		var read func()
		read = func() {
			d.Unique()
			for d.Array() {
				if d.Kind() == contract.KindArray {
					read()
				} else {
					d.Skip()
				}
			}
		}
		read()
	})
	if err := d.End(); err == nil { // the innermost objects are equal
		t.Error("equal elements were not seen")
	}
	if reads > 40*(depth+width) {
		t.Errorf("%.0f allocations for %d values", reads, depth+width)
	}
}

// A decoder that is not at its end is a defect of generated code.
func TestEndInside(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	d := contract.NewDecoder([]byte(`[1]`))
	d.Array()
	_ = d.End()
}
