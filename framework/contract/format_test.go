package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/framework/contract"
)

var formats = map[string]func(string) bool{
	"date-time": contract.IsDateTime, "date": contract.IsDate, "time": contract.IsTime,
	"uuid": contract.IsUUID, "email": contract.IsEmail, "uri": contract.IsURI,
}

func formatSchemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	out := map[string]*jsonschema.Schema{}
	for name := range formats {
		out[name] = compile(t, map[string]any{"format": name})
	}
	return out
}

func compile(t testing.TB, doc any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	if err := c.AddResource("mem:///schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var texts = strings.Split(`
2026-01-31T15:04:05Z|2026-01-31t15:04:05z|2026-01-31 15:04:05Z|2026-01-31T15:04:05|2026-01-31T15:04:05.5Z|2026-01-31T15:04:05.Z|2026-01-31T15:04:05.123456789012+01:30
2016-12-31T23:59:60Z|2016-12-31T23:58:60Z|2017-01-01T00:59:60+01:00|2016-12-31T15:59:60-08:00|2026-02-29T00:00:00Z|2024-02-29T00:00:00Z|2026-01-31T24:00:00Z|2026-01-31T15:04:05+24:00
2026-01-31T15:04:05+01:60|2026-01-31T15:04:05+0100|2026-01-31T15:04:05-00:00|2026-13-01|2026-1-01|0000-01-01|12026-01-01|2026-01-01x|-026-01-01|2026-01-00
15:04:05Z|15:04:05|15:04:5Z|+5:04:05Z|-0:04:05Z|-1:04:05Z|15:04:05+1:00|15:04:05++1:00|15:04:05+-1:00|15:04:05+-0:00|23:59:60Z|23:59:61Z|22:59:60-01:00|00:59:60-01:00|15:04:05ç|15:04:05.1z
018f0000-0000-7000-8000-000000000000|018F0000-0000-7000-8000-00000000000A|018f0000-0000-7000-8000-00000000000|018f00000000700080000000000000000000|{018f0000-0000-7000-8000-000000000000}|018f0000-0000-7000-8000-00000000000g|00000000-0000-0000-0000-000000000000
a@b.co|@b.co|a@|a|a@b@c.d|"a b"@c.d|"a"b"@c.d|"a\b"@c.d|"@c.d|""@c.d|.a@b.c|a.@b.c|a..b@c.d|a@-b.c|a@b-.c|a@b..c|a@b.|a@b.c.|a@[127.0.0.1]|a@[127.0.0.01]|a@[127.0.0]|a@[+1.0.0.0]|a@[-0.0.0.0]|a@[1.2.3.4.5]
a@[IPv6:::1]|a@[IPv6:::1%eth0]|a@[IPv6:1]|a@[IPv6:127.0.0.1]|a@[]|a@[|ã@b.c|a@ã.c|a b@c.d|a@b_c|a@b c
https://example.com/1|a:b|a:|:a|//a/b|/a|a|http://[::1]/|http://::1/|http://[::1%25eth0]/|http://[1]/|http://a b/|http://a/%zz|http://a/%41|urn:uuid:1|mailto:a@b.c|http://a:x/|1a:b|http://[::1]:80|http://a\b|a:\b|http://user:pass@[::g]/|http://ã.c/é|#a|?a|http:|http://
`, "|")

// The formats are those of the validator that the differential tests of
// generated messages trust.
func FuzzFormats(f *testing.F) {
	schemas := formatSchemas(f)
	for _, line := range texts {
		for s := range strings.SplitSeq(line, "\n") {
			f.Add(s)
		}
	}
	f.Add(strings.Repeat("a", 64) + "@b.c")
	f.Add(strings.Repeat("a", 65) + "@b.c")
	f.Add("a@" + strings.Repeat("b", 63) + ".c")
	f.Add("a@" + strings.Repeat("b", 64) + ".c")
	f.Add("a@" + strings.Repeat("b.", 126))
	f.Add("a@" + strings.Repeat("b.", 127))
	f.Fuzz(func(t *testing.T, s string) {
		for name, is := range formats {
			want := schemas[name].Validate(s) == nil
			if got := is(s); got != want {
				t.Errorf("%s %q: %v, jsonschema %v", name, s, got, want)
			}
		}
	})
}

func FuzzMultipleOf(f *testing.F) {
	for _, x := range []string{"0.3", "1", "0.1", "1e300", "-7.5", "0.07", "1e-320", "123456789.123", "9007199254740993", "0", "4.35", "1e23", "-0.0"} {
		for _, of := range []string{"0.1", "1", "0.01", "2.5", "1e-7", "3", "1e300", "0.30", "123456789012345678901234567890", "0.000000000000000000001", "7e-5"} {
			f.Add(x, of)
		}
	}
	f.Fuzz(func(t *testing.T, x, of string) {
		var value float64
		of = strings.TrimSpace(of)
		if len(x) > 40 || len(of) > 40 || json.Unmarshal([]byte(x), &value) != nil || !json.Valid([]byte(of)) || strings.ContainsAny(of, `"-{[ntf`) && !strings.Contains(of, "e-") {
			t.Skip()
		}
		if _, exponent, ok := strings.Cut(strings.ToLower(of), "e"); ok && len(exponent) > 4 {
			t.Skip() // the validator would compute for long
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"multipleOf":` + of + `}`))
		if err != nil {
			t.Skip()
		}
		c := jsonschema.NewCompiler()
		if c.AddResource("mem:///schema", doc) != nil {
			t.Skip()
		}
		s, err := c.Compile("mem:///schema")
		if err != nil {
			t.Skip() // not positive
		}
		text, _ := json.Marshal(value)
		want := s.Validate(json.Number(text)) == nil
		if got := contract.MultipleOf(value, of); got != want {
			t.Errorf("%s of %s: %v, jsonschema %v", text, of, got, want)
		}
	})
}
