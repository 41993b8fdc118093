package gosrc_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
)

func enum(t *testing.T, decls string) (values, problems []string) {
	t.Helper()
	text := "package p\n\n//idem:operation name=o topic=t\ntype M struct {\n\tE E `json:\"e\"`\n\tK string `idem:\"key\"`\n}\n" + decls
	var list diag.List
	c := gosrc.Load(fstest.MapFS{"p/a.go": {Data: []byte(text)}}, "p", &list, gosrc.Options{})
	for _, p := range list.Sorted() {
		problems = append(problems, p.String())
	}
	if c != nil {
		for _, v := range c.Messages[0].Payload.Fields[0].Type.Enum {
			values = append(values, v.GoName+"="+v.Value)
		}
	}
	return values, problems
}

// Constants have the values that the compiler gives them.
func TestConstantsOfAnEnum(t *testing.T) {
	for name, c := range map[string]struct{ decls, want string }{
		"text":            {"type E string\nconst A E = `a`\nconst B = E(\"b\")\nconst other = \"c\"\n", "A=a B=b"},
		"sum":             {"type E string\nconst A E = p + \"/\" + B\nconst p = \"x\"\nconst B = E(p)\n", "A=x/x B=x"},
		"repeated":        {"type E int\nconst (\n_ E = iota\nA\n_\nB\nC = 7\nD E = C\n)\n", "A=1 B=3 D=7"},
		"two in a line":   {"type E int\nconst (\nA, X E = iota, 1 << iota\nB, Y\n)\n", "A=0 X=1 Y=2"},
		"arithmetic":      {"type E int\nconst (\nA E = -7 / 2\nB E = (7 % 4) * 10 - 1\nC E = 'a' &^ 1 | 2 ^ 3\nD E = 0x10 >> 1\n)\n", "A=-3 B=29 C=97 D=8"},
		"same value":      {"type E int\nconst A, B E = 1, 1\n", "A=1"},
		"alias":           {"type E = F\ntype F string\nconst A E = \"a\"\nconst B F = \"b\"\n", "A=a B=b"},
		"other type":      {"type E string\ntype F string\nconst A F = \"a\"\nconst B E = \"b\"\n", "B=b"},
		"inside function": {"type E string\nconst A E = \"a\"\nfunc f() { const B E = \"b\" }\n", "A=a"},
		"none":            {"type E string\n", ""},
	} {
		values, problems := enum(t, c.decls)
		if got := strings.Join(values, " "); got != c.want || problems != nil {
			t.Errorf("%s: values %q, want %q; problems %v", name, got, c.want, problems)
		}
	}
}

// A value that is not known must not be left out in silence.
func TestConstantsWithoutKnownValue(t *testing.T) {
	for name, decls := range map[string]string{
		"other package": "type E string\nconst A E = y.Z\n",
		"converted":     "type E string\nconst A = E(y.Z)\n",
		"builtin":       "type E int\nconst A E = len(\"abc\")\n",
		"circle":        "type E int\nconst A E = B\nconst B = A\n",
		"division":      "type E int\nconst A E = 1 / 0\n",
		"shift":         "type E int\nconst A E = 1 << 100000000\n",
		"kind":          "type E string\nconst A E = 1\n",
		"mixed":         "type E string\nconst A E = \"a\" + 1\n",
		"long":          "type E string\nconst A E = a + a + a\nconst a = \"" + strings.Repeat("x", 3000) + "\"\n",
	} {
		if values, problems := enum(t, decls); len(problems) == 0 || !strings.Contains(problems[0], "IDEM169: idemgen cannot tell the value of constant A") {
			t.Errorf("%s: values %v, problems %v", name, values, problems)
		}
	}
}
