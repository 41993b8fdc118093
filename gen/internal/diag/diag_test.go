package diag_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen/internal/diag"
)

func at(line, col int) diag.Pos { return diag.Pos{File: "a.yaml", Line: line, Col: col} }

func write(t *testing.T, format string, text string, problems ...diag.Problem) string {
	t.Helper()
	var b strings.Builder
	o := diag.Output{Problems: problems, Lines: func(file string) []string {
		if file != "a.yaml" {
			return nil
		}
		return strings.Split(text, "\n")
	}}
	if err := o.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		problem    diag.Problem
		want       string
	}{
		{"caret under the column", "a: 1\nttl: 10days", diag.Problem{Code: "IDEM052", Pos: at(2, 6), Message: "no duration", Fix: "use 240h"},
			"a.yaml:2:6: IDEM052: no duration (use 240h)\n    2 | ttl: 10days\n      |      ^\n"},
		{"both places", "a: 1\na: 2", diag.Problem{Code: "IDEM007", Pos: at(2, 1), Message: "twice", Related: []diag.Related{{Pos: at(1, 1), Note: "first here"}}},
			"a.yaml:2:1: IDEM007: twice\n    2 | a: 2\n      | ^\n  a.yaml:1:1: first here\n    1 | a: 1\n      | ^\n"},
		{"columns are characters", "ação: é", diag.Problem{Code: "IDEM002", Pos: at(1, 7), Message: "m"},
			"a.yaml:1:7: IDEM002: m\n    1 | ação: é\n      |       ^\n"},
		{"tabs keep the caret in place", "\ta", diag.Problem{Code: "IDEM002", Pos: at(1, 2), Message: "m"},
			"a.yaml:1:2: IDEM002: m\n    1 | \ta\n      | \t^\n"},
		{"a carriage return is not shown", "a\r", diag.Problem{Code: "IDEM002", Pos: at(1, 1), Message: "m"},
			"a.yaml:1:1: IDEM002: m\n    1 | a\n      | ^\n"},
		{"no control characters", "a\x1b[31m", diag.Problem{Code: "IDEM002", Pos: at(1, 1), Message: "m\x1b\u202e"},
			"a.yaml:1:1: IDEM002: m\ufffd\ufffd\n    1 | a\ufffd[31m\n      | ^\n"},
		{"beyond the end of the line", "ab", diag.Problem{Code: "IDEM002", Pos: at(1, 99), Message: "m"},
			"a.yaml:1:99: IDEM002: m\n    1 | ab\n      |   ^\n"},
		{"beyond the end of the file", "ab", diag.Problem{Code: "IDEM002", Pos: at(9, 1), Message: "m"}, "a.yaml:9:1: IDEM002: m\n"},
		{"no column", "ab", diag.Problem{Code: "IDEM002", Pos: at(1, 0), Message: "m"}, "a.yaml:1: IDEM002: m\n    1 | ab\n"},
		{"no line", "ab", diag.Problem{Code: "IDEM003", Pos: diag.Pos{File: "b.yaml"}, Message: "m"}, "b.yaml: IDEM003: m\n"},
		{"no place", "", diag.Problem{Code: "IDEM008", Message: "m"}, "IDEM008: m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, write(t, "text", tt.text, tt.problem)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A contract may be one long line.
func TestLongLine(t *testing.T) {
	line := strings.Repeat("a", 5000) + "X" + strings.Repeat("b", 5000)
	for _, col := range []int{1, 5001, 10001} {
		got := strings.Split(write(t, "text", line, diag.Problem{Code: "IDEM002", Pos: at(1, col), Message: "m"}), "\n")
		if n := len([]rune(got[1])); n > 130 {
			t.Errorf("the excerpt of column %d has %d characters", col, n)
		}
		caret := len([]rune(got[2])) - 1
		if r := []rune(got[1]); r[caret] != []rune(line)[col-1] || col == 5001 && r[caret] != 'X' {
			t.Errorf("the caret of column %d is under %q", col, r[caret])
		}
	}
}

func TestJSON(t *testing.T) {
	got := write(t, "json", "", diag.Problem{Code: "IDEM007", Pos: at(2, 1), Message: "<twice>", Fix: "f", Related: []diag.Related{{Pos: at(1, 1), Note: "first here"}}}, diag.Problem{Code: "IDEM008", Message: "m"})
	want := `{
  "version": 1,
  "problems": [
    {
      "code": "IDEM007",
      "severity": "error",
      "file": "a.yaml",
      "line": 2,
      "col": 1,
      "message": "<twice>",
      "fix": "f",
      "related": [
        {
          "file": "a.yaml",
          "line": 1,
          "col": 1,
          "note": "first here"
        }
      ]
    },
    {
      "code": "IDEM008",
      "severity": "error",
      "message": "m"
    }
  ]
}
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var none struct{ Problems []any }
	if err := json.Unmarshal([]byte(write(t, "json", "")), &none); err != nil || none.Problems == nil {
		t.Errorf("without problems: %v %v", none, err)
	}
}

func TestGitHub(t *testing.T) {
	p := diag.Problem{Code: "IDEM007", Pos: diag.Pos{File: "a,b:c.yaml", Line: 2, Col: 1}, Message: "50% of\nit", Fix: "f", Related: []diag.Related{{Pos: at(1, 1), Note: "first"}}}
	want := "::error file=a%2Cb%3Ac.yaml,line=2,col=1,title=IDEM007::50%25 of%0Ait (f)%0Aa.yaml:1:1: first\n" +
		"::error title=IDEM008::m\n"
	if d := cmp.Diff(want, write(t, "github", "", p, diag.Problem{Code: "IDEM008", Message: "m"})); d != "" {
		t.Error(d)
	}
}

func TestWarnings(t *testing.T) {
	o := diag.Output{Warnings: []diag.Problem{{Code: "IDEM129", Pos: at(1, 1), Message: "m"}}}
	for format, want := range map[string]string{
		"text": "warning: a.yaml:1:1: IDEM129: m\n", "github": "::warning file=a.yaml,line=1,col=1,title=IDEM129::m\n",
		"json": `"severity": "warning"`,
	} {
		var b strings.Builder
		if err := o.Write(&b, format); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q, %v", format, b.String(), err)
		}
	}
	if err := o.Write(&strings.Builder{}, "xml"); err == nil {
		t.Error("xml is no format")
	}
}

func TestList(t *testing.T) {
	var l diag.List
	l.Addf("IDEM002", at(2, 1), "", "b")
	l.Addf("IDEM002", at(2, 1), "", "b")
	l.Addf("IDEM001", at(1, 9), "", "a")
	l.Addf("IDEM001", at(1, 10), "", "c")
	var got []string
	for _, p := range l.Sorted() {
		got = append(got, p.String())
	}
	want := []string{"a.yaml:1:9: IDEM001: a", "a.yaml:1:10: IDEM001: c", "a.yaml:2:1: IDEM002: b"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i := range 1000 {
		l.Addf("IDEM002", at(i+5, 1), "", "b")
	}
	sorted := l.Sorted()
	if last := sorted[len(sorted)-1]; last.Code != diag.TooMany || l.Len() != 1003 || len(sorted) != 501 {
		t.Errorf("%d of %d problems, the last is %v", len(sorted), l.Len(), last)
	}
}

// A code is never reused, and says what it is about.
func TestCodes(t *testing.T) {
	seen := map[diag.Code]bool{}
	for _, c := range diag.Codes() {
		var n int
		if _, err := fmt.Sscanf(string(c.Code), "IDEM%03d", &n); err != nil || len(c.Code) != 7 {
			t.Errorf("%q is no code", c.Code)
		}
		if seen[c.Code] {
			t.Errorf("%s is there twice", c.Code)
		}
		seen[c.Code] = true
		if c.Title == "" || strings.HasSuffix(c.Title, ".") {
			t.Errorf("%s: title %q", c.Code, c.Title)
		}
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"keyVersion", "key", "ttl"}
	for in, want := range map[string]string{
		"keyversion": "did you mean keyVersion?", "kye": "did you mean key?", "ttls": "did you mean ttl?",
		"timeToLive": "there are keyVersion, key, ttl", "": "there are keyVersion, key, ttl",
	} {
		if got := diag.Suggest(in, names); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
	if got := diag.Suggest(strings.Repeat("x", 1_000_000), names); got == "" {
		t.Error("a long name has no hint")
	}
}
