package idem

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
)

func fingerprint(t *testing.T, f Fingerprint, payload string) string {
	t.Helper()
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	got, err := f.of([]byte(payload), newDoc([]byte(payload)))
	if err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	return got
}

// A payment key used again with another amount must be noticed, and a
// redelivery of the same payment must not.
func TestFingerprintSeesAnotherAmount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		f     Fingerprint
		a, b  string
		equal bool
	}{
		{"whole payload, same bytes", Fingerprint{}, `{"id":9,"amount":200}`, `{"id":9,"amount":200}`, true},
		{"whole payload, other amount", Fingerprint{}, `{"id":9,"amount":200}`, `{"id":9,"amount":500}`, false},
		{"whole payload is compared byte by byte", Fingerprint{}, `{"id":9,"amount":200}`, `{"amount":200,"id":9}`, false},
		{"whole payload need not be JSON", Fingerprint{}, "\x00\xff", "\x00\xff", true},
		{"a tombstone is empty", Fingerprint{}, "", "", true},

		{"chosen values, other amount", Fingerprint{Pointers: []string{"/amount"}}, `{"id":9,"amount":200}`, `{"id":9,"amount":500}`, false},
		{"chosen values, other timestamp", Fingerprint{Pointers: []string{"/amount"}}, `{"at":1,"amount":200}`, `{"at":2,"amount":200}`, true},
		{"number and string of the same text", Fingerprint{Pointers: []string{"/amount"}}, `{"amount":200}`, `{"amount":"200"}`, true},
		{"number written otherwise", Fingerprint{Pointers: []string{"/amount"}}, `{"amount":200}`, `{"amount":200.0}`, true},
		{"large numbers", Fingerprint{Pointers: []string{"/n"}}, `{"n":9007199254740992}`, `{"n":9007199254740993}`, false},
		{"values do not move between pointers", Fingerprint{Pointers: []string{"/a", "/b"}}, `{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{"absent and null", Fingerprint{Pointers: []string{"/a"}}, `{}`, `{"a":null}`, false},
		{"null and the text null", Fingerprint{Pointers: []string{"/a"}}, `{"a":"null"}`, `{"a":null}`, false},
		{"null and empty", Fingerprint{Pointers: []string{"/a"}}, `{"a":""}`, `{"a":null}`, false},
		{"empty array and object", Fingerprint{Pointers: []string{"/a"}}, `{"a":[]}`, `{"a":{}}`, false},
		{"the last of repeated members", Fingerprint{Pointers: []string{"/a"}}, `{"a":{"x":1,"x":2}}`, `{"a":{"x":2}}`, true},

		{"whole document, form", Fingerprint{Pointers: []string{""}}, `{"a":[1,{"b":"é","c":null}],"d":true}`, "{\"d\" : true,\n\"a\":[ 1, {\"c\":null, \"b\":\"\\u00e9\"} ] }", true},
		{"whole document, order of elements", Fingerprint{Pointers: []string{""}}, `[1,2]`, `[2,1]`, false},
		{"whole document, nesting", Fingerprint{Pointers: []string{""}}, `[[1],2]`, `[1,[2]]`, false},
		{"whole document, name and value", Fingerprint{Pointers: []string{""}}, `{"ab":"c"}`, `{"a":"bc"}`, false},
		{"whole document, bytes that are not Unicode", Fingerprint{Pointers: []string{""}}, "\"\xff\"", "\"\xfe\"", false},
	} {
		a, b := fingerprint(t, tt.f, tt.a), fingerprint(t, tt.f, tt.b)
		if (a == b) != tt.equal {
			t.Errorf("%s: %q has %s and %q has %s", tt.name, tt.a, a, tt.b, b)
		}
		if !regexp.MustCompile("^[0-9a-f]{32}$").MatchString(a) {
			t.Errorf("%s: fingerprint %q is not 32 hexadecimal digits", tt.name, a)
		}
	}
}

func TestFingerprintIgnoresTheOrderOfPointers(t *testing.T) {
	t.Parallel()
	const payload = `{"a":1,"b":2}`
	if a, b := fingerprint(t, Fingerprint{Pointers: []string{"/a", "/b"}}, payload), fingerprint(t, Fingerprint{Pointers: []string{"/b", "/a"}}, payload); a != b {
		t.Errorf("got %s and %s", a, b)
	}
}

func TestFingerprintNone(t *testing.T) {
	t.Parallel()
	if got := fingerprint(t, Fingerprint{None: true}, `{`); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestFingerprintOfUnreadablePayload(t *testing.T) {
	t.Parallel()
	f := Fingerprint{Pointers: []string{"/a"}}
	for _, payload := range []string{"", "{", "\x00"} {
		if got, err := f.of([]byte(payload), newDoc([]byte(payload))); got != "" || !errors.Is(err, errNotJSON) {
			t.Errorf("%q: got %q, %v", payload, got, err)
		}
	}
}

// Stored fingerprints outlive the program that wrote them.
func TestFingerprintStaysTheSame(t *testing.T) {
	t.Parallel()
	const payload = `{"id":9,"amount":200,"tags":["a",null,true]}`
	for want, f := range map[string]Fingerprint{
		"b0cad4cd0a56023d1689f9b2e1f61bbf": {},
		"df2cdf4a4719c23cf4a7776787aa370a": {Pointers: []string{"/amount", "/tags"}},
	} {
		if got := fingerprint(t, f, payload); got != want {
			t.Errorf("%+v: got %s, want %s", f, got, want)
		}
	}
}

func TestFingerprintValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		f    Fingerprint
		want []string
	}{
		{Fingerprint{}, nil},
		{Fingerprint{None: true}, nil},
		{Fingerprint{Pointers: []string{"", "/a~1b"}}, nil},
		{Fingerprint{None: true, Pointers: []string{"/a"}}, []string{"pointers must"}},
		{Fingerprint{Pointers: []string{"a", "/b", "/~"}}, []string{"pointers[0]", "pointers[2]"}},
	} {
		checkFields(t, fmt.Sprintf("%+v", tt.f), tt.f.Validate(), tt.want)
	}
}
