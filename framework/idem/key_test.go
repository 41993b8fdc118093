package idem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestKeyExtract(t *testing.T) {
	t.Parallel()
	headers := []Header{
		{"event-id", []byte("first")}, {"event-id", []byte("evt_1")},
		{"padded", []byte(" a ")}, {"binary", []byte{0xff, 0xfe}},
	}
	const payload = ` {"id":"old","n":{"a/b~":[10,{"x":true}]},"big":9007199254740993,"f":1.0,"exp":1e2,"s":"1","i":1,
		"esc":"a\u0062\ud83d\ude00\n","id":"new","":"empty name"} `
	for _, tt := range []struct {
		name  string
		parts []KeyPart
		want  string
	}{
		{"repeated header: the last counts", []KeyPart{FromHeader("event-id")}, "evt_1"},
		{"nothing is trimmed", []KeyPart{FromHeader("padded")}, " a "},
		{"repeated member: the last counts", []KeyPart{FromPayload("/id")}, "new"},
		{"escaped pointer, array index", []KeyPart{FromPayload("/n/a~1b~0/0")}, "10"},
		{"boolean below an array", []KeyPart{FromPayload("/n/a~1b~0/1/x")}, "true"},
		{"number above 2^53 keeps its bits", []KeyPart{FromPayload("/big")}, "9007199254740993"},
		{"number of a library that writes fractions", []KeyPart{FromPayload("/f")}, "1"},
		{"exponent", []KeyPart{FromPayload("/exp")}, "100"},
		{"number", []KeyPart{FromPayload("/i")}, "1"},
		{"string with the same text", []KeyPart{FromPayload("/s")}, "1"},
		{"member with an empty name", []KeyPart{FromPayload("/")}, "empty name"},
		{"composite of both sources", []KeyPart{FromHeader("event-id"), FromPayload("/id"), FromPayload("/i")}, "|evt_1|new|1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recipe := KeyFrom(tt.parts...)
			if err := recipe.Validate(); err != nil {
				t.Fatal(err)
			}
			got, err := recipe.extract(headers, newDoc([]byte(payload)))
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	for _, part := range []KeyPart{FromHeader("binary"), FromPayload("/esc")} {
		got, err := KeyFrom(part).extract(headers, newDoc([]byte(payload)))
		if err != nil || !strings.HasPrefix(got, "sha256:") || len(got) != len("sha256:")+64 {
			t.Errorf("%s: got %q, %v; want a hash of what cannot be printed", part, got, err)
		}
	}
}

// Producers that set no id once made all their messages look like one. No
// such message has a key, and the error says which part is to blame.
func TestKeyMissing(t *testing.T) {
	t.Parallel()
	const payload = `{"null":null,"empty":"","blank":" \t\n\u00a0\u2003","zero":"\u0000\u0000","invisible":"\u200b\ufeff\u3164","object":{},"array":["a"],"id":"x"}`
	header := []Header{{"empty", nil}, {"blank", []byte("  ")}, {"nbsp", []byte("\u00a0\u3000")}, {"zeros", make([]byte, 16)}, {"id", []byte("x")}}
	for _, tt := range []struct {
		part KeyPart
		why  string
	}{
		{FromHeader("none"), "absent"},
		{FromHeader("ID"), "absent"},
		{FromHeader("empty"), "blank"},
		{FromHeader("blank"), "blank"},
		{FromHeader("nbsp"), "blank"},
		{FromHeader("zeros"), "blank"},
		{FromPayload("/none"), "absent"},
		{FromPayload("/object/none"), "absent"},
		{FromPayload("/id/none"), "absent"},
		{FromPayload("/array/1"), "absent"},
		{FromPayload("/array/00"), "absent"},
		{FromPayload("/array/-"), "absent"},
		{FromPayload("/array/99999999999999999999"), "absent"},
		{FromPayload("/null"), "null"},
		{FromPayload("/empty"), "blank"},
		{FromPayload("/blank"), "blank"},
		{FromPayload("/zero"), "blank"},
		{FromPayload("/invisible"), "blank"},
		{FromPayload("/object"), "an object"},
		{FromPayload("/array"), "an array"},
	} {
		for i, recipe := range []KeyRecipe{KeyFrom(tt.part), KeyFrom(FromHeader("id"), tt.part), KeyFrom(tt.part, FromPayload("/id"))} {
			key, err := recipe.extract(header, newDoc([]byte(payload)))
			want := fmt.Sprintf("idem: missing idempotency key: parts[%d], %s: %s", i%2, tt.part, tt.why)
			if key != "" || !errors.Is(err, ErrMissingKey) || err.Error() != want {
				t.Errorf("%v: got key %q and error %q, want %q", recipe.Parts, key, err, want)
			}
			if errors.Is(err, errNotJSON) {
				t.Errorf("%v: the payload is JSON, yet: %v", recipe.Parts, err)
			}
		}
	}
	if key, err := (KeyRecipe{}).extract(header, nil); key != "" || !errors.Is(err, ErrMissingKey) {
		t.Errorf("recipe without parts: got %q, %v", key, err)
	}
}

// A key that only looks empty to a careless check is kept.
func TestKeyNotBlank(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "-", "false", "null", "\x00\x09", "\u200bx", "\xff"} {
		if key, err := KeyFrom(FromHeader("id")).extract([]Header{{"id", []byte(value)}}, nil); key == "" || err != nil {
			t.Errorf("%q: got %q, %v", value, key, err)
		}
	}
}

// A payload that cannot be read is told from one that lacks the key, and is
// not looked at when only headers are needed.
func TestKeyOfUnreadablePayload(t *testing.T) {
	t.Parallel()
	headers := []Header{{"id", []byte("x")}}
	for _, payload := range []string{"", "{", `{"id":1}x`, "\xef\xbb\xbf{}", "\x00\x01", `{"secret":oops}`} {
		doc := newDoc([]byte(payload))
		if key, err := KeyFrom(FromHeader("id")).extract(headers, doc); key != "x" || err != nil {
			t.Errorf("%q: got %q, %v", payload, key, err)
		}
		if doc.checked {
			t.Errorf("%q: was read although only a header is needed", payload)
		}
		_, err := KeyFrom(FromPayload("/id")).extract(headers, doc)
		if !errors.Is(err, ErrMissingKey) || !errors.Is(err, errNotJSON) {
			t.Errorf("%q: got %v", payload, err)
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "oops") {
			t.Errorf("the error shows the payload: %v", err)
		}
	}
}

// Replacing what is not Unicode by U+FFFD would give different messages one
// key, and the second would vanish as a duplicate.
func TestKeysThatAreNotUnicodeStayApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, value := range []string{"a\xff", "a\xfe", `a\ud800`, `a\ud801`, `a\udc00`, `a\ufffd`, `a\ud800\ud800`, `a\ud800x`, "a\ufffdb"} {
		key, err := KeyFrom(FromPayload("/id")).extract(nil, newDoc([]byte(`{"id":"`+value+`"}`)))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q have the same key %q", value, other, key)
		}
		if !utf8.ValidString(key) {
			t.Errorf("%q gives a key that is not UTF-8: %q", value, key)
		}
		seen[key] = value
	}
}

func TestEncodeKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for _, tt := range []struct {
		version int
		values  []string
		want    string // a trailing * is a prefix
	}{
		{0, []string{"pedido-1"}, "pedido-1"},
		{1, []string{"pedido-1"}, "pedido-1"},
		{2, []string{"pedido-1"}, "v2:pedido-1"},
		{12, []string{"a", "b"}, "v12:|a|b"},
		{1, []string{"stripe", "pay_1", "paid"}, "|stripe|pay_1|paid"},
		{1, []string{"a|b", `c\`}, `|a\|b|c\\`},
		{1, []string{"ação"}, "ação"},
		{1, []string{long}, long},
		{1, []string{long + "x"}, "sha256:*"},
		{2, []string{long}, "v2:sha256:*"},
		{1, []string{"a\nb"}, "sha256:*"},
		{1, []string{"a\u0085b"}, "sha256:*"},
		{1, []string{"sha256:abc"}, "sha256:*"},
		{1, []string{"|a|b"}, "sha256:*"},
		{1, []string{"v2:a"}, "sha256:*"},
		{3, []string{"v2:a"}, "v3:sha256:*"},
		{1, []string{"v:a"}, "v:a"},
		{1, []string{"v2a:"}, "v2a:"},
		{1, []string{"v22"}, "v22"},
		{1, []string{"v2:a", "b"}, "|v2:a|b"},
	} {
		got := encodeKey(tt.version, tt.values...)
		prefix, hashed := strings.CutSuffix(tt.want, "*")
		if hashed && (!strings.HasPrefix(got, prefix) || len(got) != len(prefix)+64) || !hashed && got != tt.want {
			t.Errorf("version %d of %q: got %q, want %q", tt.version, tt.values, got, tt.want)
		}
		if again := encodeKey(tt.version, tt.values...); again != got {
			t.Errorf("%q: got %q and then %q", tt.values, got, again)
		}
		if len(got) > maxKeyBytes {
			t.Errorf("%q: key of %d bytes", tt.values, len(got))
		}
	}
	if plain := encodeKey(1, "sha256:abc"); plain == "sha256:abc" {
		t.Error("a value can pretend to be a hash")
	}
	hash := encodeKey(1, long+"x")
	if encodeKey(1, hash) == hash {
		t.Error("the hash of a long key, used as a key, is that key")
	}
}

// checkUnambiguous checks that two recipes' values share a key only if they
// are the same values of the same version.
func checkUnambiguous(t interface {
	Helper()
	Errorf(string, ...any)
}, v1 int, a []string, v2 int, b []string) {
	t.Helper()
	keyA, keyB := encodeKey(v1, a...), encodeKey(v2, b...)
	same := max(v1, 1) == max(v2, 1) && slices.Equal(a, b)
	if (keyA == keyB) != same {
		t.Errorf("version %d of %q gives %q, version %d of %q gives %q", v1, a, keyA, v2, b, keyB)
	}
	for _, key := range []string{keyA, keyB} {
		if len(key) > maxKeyBytes || !printable(key) {
			t.Errorf("key %q is too long or cannot be printed", key)
		}
	}
}

func TestKeysAreUnambiguous(t *testing.T) {
	t.Parallel()
	lists := [][]string{
		{"a", "bc"}, {"ab", "c"}, {"abc"}, {"a", "b", "c"}, {"|a|bc"}, {"a|bc"}, {"a|b", "c"}, {"a", "b|c"}, {"a|", "bc"}, {"a", "|bc"},
		{`a\`, "bc"}, {`a\|`, "bc"}, {`a\`, "|bc"}, {`a\\`, "bc"}, {"", "a"}, {"a", ""}, {"a"}, {"", "", ""}, {"v2:a"}, {"v2:", "a"},
		{encodeKey(1, "v2:a")}, {"sha256:"}, {strings.Repeat("y", 300)}, {strings.Repeat("y", 299), "y"}, {"y", strings.Repeat("y", 299)},
		{"|" + strings.Repeat("y", 300) + "|y"}, {strings.Repeat("y", 300), "y"},
	}
	for _, a := range lists {
		for _, b := range lists {
			for _, v := range []int{0, 1, 2, 22} {
				checkUnambiguous(t, 1, a, v, b)
				checkUnambiguous(t, 2, a, v, b)
			}
		}
	}
	value := rapid.StringOfN(rapid.SampledFrom([]rune("|\\:v2s\x00a")), 0, 4, -1)
	list := rapid.SliceOfN(value, 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		checkUnambiguous(t, rapid.IntRange(0, 3).Draw(t, "v1"), list.Draw(t, "a"), rapid.IntRange(0, 3).Draw(t, "v2"), list.Draw(t, "b"))
	})
}

func FuzzKeysAreUnambiguous(f *testing.F) {
	f.Add(1, "a", "bc", 1, "ab", "c")
	f.Add(2, "v2:", "a", 1, "v2:|v2:", "a")
	f.Add(0, "|", `\|`, 1, `\`, "||")
	f.Fuzz(func(t *testing.T, v1 int, a, b string, v2 int, c, d string) {
		v1, v2 = max(v1, 0), max(v2, 0)
		checkUnambiguous(t, v1, []string{a, b}, v2, []string{c, d})
		checkUnambiguous(t, v1, []string{a, b}, v2, []string{c})
		checkUnambiguous(t, v1, []string{a, b}, v2, []string{c, b, d})
		checkUnambiguous(t, v1, []string{a}, v2, []string{c})
	})
}

func FuzzKeyExtract(f *testing.F) {
	f.Add("h", []byte("value"), "/a/0", []byte(`{"a":["b"]}`))
	f.Add("", []byte{}, "/~01", []byte(`{"~1":"\ud800\\"}`))
	f.Add("h", []byte{0, 0}, "/a", []byte(`{"a":{}`))
	f.Fuzz(func(t *testing.T, name string, value []byte, pointer string, payload []byte) {
		for _, recipe := range []KeyRecipe{KeyFrom(FromHeader(name)), KeyFrom(FromPayload(pointer)), KeyFrom(FromHeader(name), FromPayload(pointer))} {
			key, err := recipe.extract([]Header{{name, value}}, newDoc(payload))
			if (err == nil) != (key != "") || err != nil && !errors.Is(err, ErrMissingKey) {
				t.Errorf("%v: key %q, error %v", recipe.Parts, key, err)
			}
			if blank(key) && key != "" {
				t.Errorf("%v: blank key %q", recipe.Parts, key)
			}
		}
	})
}

func TestKeyRecipeValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		recipe KeyRecipe
		want   []string
	}{
		{KeyFrom(FromHeader("a"), FromPayload("/b/~0/~1/0")), nil},
		{KeyFrom(FromPayload("/")), nil},
		{KeyRecipe{}, []string{"parts"}},
		{KeyRecipe{Version: -1}, []string{"version", "parts"}},
		{KeyFrom(KeyPart{}), []string{"parts[0]"}},
		{KeyFrom(FromHeader("a"), KeyPart{Header: "a", Pointer: "/b"}), []string{"parts[1]"}},
		{KeyFrom(FromPayload("id")), []string{"parts[0].pointer"}},
		{KeyFrom(FromPayload("/a~")), []string{"parts[0].pointer"}},
		{KeyFrom(FromPayload("/a~2b")), []string{"parts[0].pointer"}},
		{KeyFrom(FromHeader("idem-key")), []string{"parts[0].header"}},
		{KeyFrom(KeyPart{}, FromHeader("x"), FromPayload("x"), KeyPart{"y", "z"}), []string{"parts[0]", "parts[2].pointer", "parts[3]", "parts[3].pointer"}},
	} {
		checkFields(t, fmt.Sprintf("%+v", tt.recipe), tt.recipe.Validate(), tt.want)
	}
}
