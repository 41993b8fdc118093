package idem

import (
	"math/big"
	"strings"
	"testing"
)

func TestNumberText(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.000", "0"}, {"-0e5", "0"}, {"0e99999999999999", "0e99999999999999"},
		{"1", "1"}, {"1.0", "1"}, {"1e0", "1"}, {"10E-1", "1"}, {"-1.50", "-1.5"}, {"1e2", "100"}, {"1E+2", "100"},
		{"12.5e1", "125"}, {"0.5", "0.5"}, {"5e-1", "0.5"}, {"0.050", "0.05"}, {"123.4500e1", "1234.5"},
		{"9007199254740993", "9007199254740993"}, {"9007199254740993.0", "9007199254740993"},
		{"1e63", "1" + strings.Repeat("0", 63)}, {"1e64", "1e64"}, {"10e63", "1e64"}, {"1" + strings.Repeat("0", 64), "1e64"},
		{"1e-64", "0." + strings.Repeat("0", 63) + "1"}, {"1e-65", "1e-65"}, {"0.1e-64", "1e-65"},
		{"1e1000000000", "1e1000000000"}, {"1e99999999999", "1e99999999999"},
	} {
		if got := numberText([]byte(tc.in)); got != tc.want {
			t.Errorf("%s became %s, want %s", tc.in, got, tc.want)
		}
	}
}

// Equal numbers have one text, and it is theirs.
func FuzzNumberText(f *testing.F) {
	for _, s := range []string{"1 1.0", "-0 0", "1e2 100", "1.5 1.50", "1e-3 0.001", "12 1.2e1", "1 2", "1e64 10e63"} {
		a, b, _ := strings.Cut(s, " ")
		f.Add(a, b)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok1 := number(a)
		y, ok2 := number(b)
		if !ok1 || !ok2 {
			t.Skip()
		}
		p, q := numberText([]byte(a)), numberText([]byte(b))
		if back, ok := number(p); !ok || back.Cmp(x) != 0 || numberText([]byte(p)) != p {
			t.Errorf("%s became %s", a, p)
		}
		if (x.Cmp(y) == 0) != (p == q) {
			t.Errorf("%s and %s became %s and %s", a, b, p, q)
		}
	})
}

// number is a JSON number whose exponent is small enough to compute with.
func number(s string) (*big.Rat, bool) {
	if checkJSON([]byte(s)) != nil || !strings.ContainsAny(s[:1], "-0123456789") || strings.TrimSpace(s) != s {
		return nil, false
	}
	if _, e, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(strings.TrimLeft(e, "+-0")) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
