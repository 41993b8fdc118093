package byhand

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type message interface {
	json.Unmarshaler
	Validate() error
}

// A text that is followed by a rule is refused for it, others are accepted.
func TestAccepts(t *testing.T) {
	for _, test := range []struct {
		new  func() message
		text map[string]string
	}{
		{func() message { return new(Open) }, map[string]string{
			`{"a":1,"b":1}`: "", `{"a":1,"x":1}`: "", `{"a":1,"x":1,"x":2,"y":1}`: "", `{"a":1,"c":null}`: "", `{"a":1,"d":[]}`: "",
			`{"a":1}`: "at least 2 members", `{"a":1,"a":2}`: "at least 2 members", `{"a":1,"b":1,"x":1,"y":1}`: "at most 3 members", `{}`: "/a: must be there",
		}},
		{func() message { return new(Closed) }, map[string]string{
			`{"a":1,"b":1}`: "", `{"a":1,"c":null}`: "", `{"a":1,"d":[]}`: "",
			`{"a":1}`: "at least 2 members", `{"a":1,"b":1,"c":"","d":[]}`: "at most 3 members", `{"a":1,"x":1}`: "/x: is not a member",
		}},
		{func() message { return new(Extra) }, map[string]string{
			`{"a":1,"x":null}`: "", `{"a":1,"extra":"","x":[{}]}`: "",
			`{"a":1}`: "at least 2 members", `{"a":1,"x":1,"y":1,"z":1}`: "at most 3 members", `{"a":1,"extra":1}`: "/extra: must be a string",
		}},
		{func() message { return new(List) }, map[string]string{
			`[]`: "", `[[]]`: "", `[[],[[]]]`: "", `[[],[]]`: "no two equal", `[[[],[[]],[]]]`: "/0: must have no two equal", `[1]`: "/0: must be an array", `null`: "is null",
		}},
		{func() message { return new(Loop) }, map[string]string{
			`{"link":{"again":{"link":{}}}}`: "/link/again/link/again: must be there", `{"link":null}`: "/link: must be an object",
		}},
		{func() message { return new(Version) }, map[string]string{
			`{"v":1,"n":1}`: "", `{"v":2.0}`: "", `{"v":20e-1,"n":5}`: "", `{"v":1,"n":0}`: "/n: must be at least 1", `{"v":3}`: "/v: must name a variant",
			`{}`: "/v: must name", `{"v":"1"}`: "/v: must be a number", `[]`: "must be an object, is an array",
		}},
		{func() message { return new(Raw) }, map[string]string{`null`: "", ` {"a":[1]} `: "", `{`: "not valid JSON"}},
		{func() message { return new(Holder) }, map[string]string{
			`{"raw":null,"later":"y","list":null,"never":null}`: "", `{"list":[[],[]]}`: "/list: must have no two", `{"never":9223372036854775807}`: "/never: must be at least 1e30",
		}},
	} {
		for text, want := range test.text {
			m := test.new()
			err := m.UnmarshalJSON([]byte(text))
			if err == nil {
				err = m.Validate()
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%T %s: %v, want %q", m, text, err, want)
			}
			if _, loses := m.(*Open); want != "" || loses {
				continue
			}
			written, err := json.Marshal(m)
			if again := test.new(); err != nil || again.UnmarshalJSON(written) != nil || again.Validate() != nil {
				t.Errorf("%T %s is written as %s, %v", m, text, written, err)
			}
		}
	}
}

func TestValues(t *testing.T) {
	one := "x"
	for _, test := range []struct {
		m    interface{ Validate() error }
		want string
	}{
		{Open{A: 1}, "<nil>"}, // others may come along
		{Closed{A: 1}, "must have at least 2 members"},
		{Extra{A: 1, Extra: &one, ExtraMembers: map[string]json.RawMessage{"extra": []byte("1")}}, "/extra: has a field of its own"},
		{List(nil), "must be there"}, {List{nil}, "/0: must be there"}, {Raw(nil), "must be there"},
		{Loop{}, "/link: must be there"},
		{Version{}, "must have exactly one variant"},
		{Version{V1: &Version1{V: 1}, V2: &Version2{V: 2}}, "must have exactly one variant"},
		{Version{V1: &Version1{V: 2}}, "/v: must be 1"},
		{Later("anything"), "<nil>"},
	} {
		got := "<nil>"
		if err := test.m.Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%#v: %s, want %s", test.m, got, test.want)
		}
	}
	if LaterX.Known() != true || Later("y").Known() {
		t.Error("Known")
	}
}
