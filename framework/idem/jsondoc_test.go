package idem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// checkAgainstStd compares every value of a payload with what encoding/json
// reads there.
func checkAgainstStd(t *testing.T, payload []byte) {
	t.Helper()
	doc := newDoc(payload)
	valid := json.Valid(payload)
	if err := doc.check(); (err == nil) != valid || err != nil && !errors.Is(err, errNotJSON) {
		t.Fatalf("valid is %t, but: %v", valid, err)
	}
	if _, kind := doc.lookup(""); (kind == kindAbsent) == valid {
		t.Fatalf("valid is %t, but the document is %s", valid, kind)
	}
	if _, err := doc.digest(""); (err == nil) != valid && !errors.Is(err, errTooDeep) {
		t.Fatalf("valid is %t, but digest says %v", valid, err)
	}
	// encoding/json replaces what is not Unicode; we keep it apart.
	lossy := !utf8.Valid(payload) || bytes.Contains(bytes.ToLower(payload), []byte(`\ud`))
	if !valid || lossy {
		return
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	compareStd(t, doc, "", root)
}

func compareStd(t *testing.T, doc *jsonDoc, pointer string, value any) {
	t.Helper()
	text, kind := doc.lookup(pointer)
	wantText, wantKind := "", kindNull
	switch v := value.(type) {
	case bool:
		wantText, wantKind = strconv.FormatBool(v), kindBool
	case json.Number:
		wantText, wantKind = numberText([]byte(v)), kindNumber
	case string:
		wantText, wantKind = v, kindString
	case []any:
		wantKind = kindArray
		for i, item := range v {
			compareStd(t, doc, pointer+"/"+strconv.Itoa(i), item)
		}
		if _, kind := doc.lookup(pointer + "/" + strconv.Itoa(len(v))); kind != kindAbsent {
			t.Errorf("%s/%d is %s, but there are only %d", pointer, len(v), kind, len(v))
		}
	case map[string]any:
		wantKind = kindObject
		for name, member := range v {
			compareStd(t, doc, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), member)
		}
	}
	if text != wantText || kind != wantKind {
		t.Errorf("%q is %s %q, want %s %q", pointer, kind, text, wantKind, wantText)
	}
}

var jsonSeeds = []string{
	`null`, ` true `, `-0`, `1e400`, `"a"`, `""`, `{}`, `[]`, "", " ", `{`, `[1,]`, `01`, `"\x"`, "\"\t\"", `{"a":1}{"a":2}`,
	` { "a" : [ 1 , { "b" : [ ] , "c" : { } } , "]}" ] , "d\"" : "\\\"" } `,
	`{"a":1,"a":{"b":2},"a":{"c":"\u00e9\ud83d\ude00\/\b\f\n\r\t"}}`,
	`{"~":"~0","/":"~1","~1":{"":{"":0}}}`,
	`{"\u0061":1,"b\u0000":2,"\u003c":"\u003C"}`,
	`[[[[[[1]]]]],[[]],{"x":[{}]}]`,
	"{\"\xff\":\"\xfe\"}", `"\ud800"`, `"\ud800\u0041"`, `"\udc00\ud800\udc00"`,
}

func TestJSONDocReadsWhatEncodingJSONReads(t *testing.T) {
	t.Parallel()
	for _, seed := range jsonSeeds {
		checkAgainstStd(t, []byte(seed))
	}
}

func FuzzJSONDoc(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed), "/a/0")
	}
	f.Fuzz(func(t *testing.T, payload []byte, pointer string) {
		checkAgainstStd(t, payload)
		doc := newDoc(payload)
		doc.lookup(pointer)
		if _, err := doc.digest(pointer); (err == nil) != (doc.check() == nil) && !errors.Is(err, errTooDeep) {
			t.Errorf("digest of %q: %v", pointer, err)
		}
	})
}

func TestJSONDocKeepsBytesThatAreNotUnicode(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"\"\xff\"":               "\xff",
		`"\ud800"`:               "\xed\xa0\x80",
		`"\udfff"`:               "\xed\xbf\xbf",
		`"\ud800\u0041"`:         "\xed\xa0\x80A",
		`"\udc00\ud83d\ude00"`:   "\xed\xb0\x80😀",
		`"\ud800\ud83d\ude00\t"`: "\xed\xa0\x80😀\t",
	} {
		if got, kind := newDoc([]byte(payload)).lookup(""); got != want || kind != kindString {
			t.Errorf("%s: got %s %q, want %q", payload, kind, got, want)
		}
	}
}

func TestJSONDocErrors(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"":        "payload is not usable JSON: it is empty",
		`{"a":b}`: "payload is not usable JSON: syntax error at byte 6",
	} {
		if err := newDoc([]byte(payload)).check(); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", payload, err, want)
		}
	}
	var none *jsonDoc
	if _, kind := none.lookup("/a"); kind != kindAbsent || !errors.Is(none.check(), errNotJSON) {
		t.Errorf("no document: got %s, %v", kind, none.check())
	}
}

// Hostile nesting and size end in an error or a quick answer, never in a
// crash: a payload of brackets has overflowed many a stack.
func TestJSONDocSurvivesHostileInput(t *testing.T) {
	t.Parallel()
	nested := func(depth int, core string) []byte {
		return []byte(strings.Repeat(`{"a":[`, depth/2) + core + strings.Repeat(`]}`, depth/2))
	}
	start := time.Now()
	for _, tt := range []struct {
		name      string
		payload   []byte
		readable  bool
		digestErr error
	}{
		{"as deep as a digest goes", nested(998, "1"), true, nil},
		{"deeper than a digest goes", nested(9000, `"`+strings.Repeat("x", 1<<18)+`"`), true, errTooDeep},
		{"deeper than encoding/json reads", nested(1<<17, "1"), false, errNotJSON},
		{"only opening brackets", bytes.Repeat([]byte("["), 1<<17), false, errNotJSON},
		{"many numbers", []byte("[" + strings.Repeat("1,", 1<<15) + "1]"), true, nil},
		{"one long number", []byte("1" + strings.Repeat("0", 1<<20)), true, nil},
	} {
		doc := newDoc(tt.payload)
		if err := doc.check(); (err == nil) != tt.readable {
			t.Errorf("%s: %v", tt.name, err)
		}
		doc.lookup("/a/0/a/0/a")
		if _, err := doc.digest(""); !errors.Is(err, tt.digestErr) {
			t.Errorf("%s: digest: %v, want %v", tt.name, err, tt.digestErr)
		}
	}
	if spent := time.Since(start); spent > 20*time.Second {
		t.Errorf("took %v", spent)
	}
}

func BenchmarkJSONDocLookup(b *testing.B) {
	payload := fmt.Appendf(nil, `{"itens":[%s{"sku":"z"}],"pedidoId":"p-1"}`, strings.Repeat(`{"sku":"x","qtd":1,"preco":"10.00"},`, 25))
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, kind := newDoc(payload).lookup("/pedidoId"); kind != kindString {
			b.Fatal(kind)
		}
	}
}
