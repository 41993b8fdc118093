package source_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// lines writes n lines with their numbers.
func lines(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// What is too big or too deep is refused, with a place, before it takes long.
func TestHostile(t *testing.T) {
	deepBlock := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, file, text string
		code             diag.Code
	}{
		{"10 MB of text", "a.yaml", "a: " + repeat("x", 10<<20), diag.TooBig},
		{"10 MB of JSON", "a.json", `"` + repeat("x", 10<<20) + `"`, diag.TooBig},
		{"2 MB of brackets", "a.yaml", repeat("[", 2<<20), diag.TooBig},
		{"100k brackets", "a.yaml", repeat("[", 100_000), diag.TooBig},
		{"100k braces", "a.yaml", repeat("{a: ", 100_000), diag.TooBig},
		{"100k pairs of brackets", "a.yaml", repeat("[", 100_000) + repeat("]", 100_000), diag.TooBig},
		{"100k brackets in JSON", "a.json", repeat("[", 100_000), diag.TooBig},
		{"100k braces in JSON", "a.json", repeat(`{"a":`, 100_000), diag.TooBig},
		{"100k dashes", "a.yaml", repeat("- ", 100_000) + "a", diag.TooBig},
		{"100k question marks", "a.yaml", repeat("? ", 100_000) + "a", ""},
		{"100k colons", "a.yaml", repeat("a: ", 100_000), ""},
		{"3k nested blocks", "a.yaml", deepBlock(2800), diag.TooBig},
		{"1M members", "a.yaml", lines("a%d: 1\n", 150_000), diag.TooBig},
		{"9k members", "a.yaml", lines("a%d: 1\n", 9_000), ""},
		{"20 times 9k members", "a.yaml", "{" + repeat("a:\n"+lines(" a%d: 1\n", 4_000), 10), ""},
		{"90k items", "a.yaml", repeat("- 1\n", 90_000), ""},
		{"a chain of anchors", "a.yaml", "a0: &a0 x\n" + chain(200), diag.TooBig},
		{"a text of many lines in quotes", "a.yaml", "a: \"" + repeat("x\n ", 90_000) + "\"", ""},
		{"100k members in JSON", "a.json", "{" + lines(`"a%d": 1,`, 50_000) + `"z": 1}`, ""},
		{"1M items", "a.yaml", repeat("- 1\n", 500_000), diag.TooBig},
		{"1M items in a bracket", "a.yaml", "[" + repeat("1,", 1_000_000) + "1]", diag.TooBig},
		{"1M items in JSON", "a.json", "[" + repeat("1,", 1_000_000) + "1]", diag.TooBig},
		{"2 MB in one key", "a.yaml", repeat("x", 2<<20-10) + ": 1", ""},
		{"2 MB in one quoted text", "a.yaml", `a: "` + repeat(`\n`, 1<<20-10) + `"`, ""},
		{"2 MB in one block text", "a.yaml", "a: |\n" + repeat("  x\n", 90_000), ""},
		{"2 MB of plain text over lines", "a.yaml", "a:\n" + repeat("  x\n", 90_000), ""},
		{"2 MB of comments", "a.yaml", "a: 1\n" + repeat("#"+repeat("x", 20)+"\n", 90_000), ""},
		{"100k comments before a key", "a.yaml", repeat("#\n", 99_000) + "a: 1\n", ""},
		{"100k blank lines", "a.yaml", "a: 1\n" + repeat("\n", 99_000) + "b: 1\n", ""},
		{"100k documents", "a.yaml", repeat("---\na: 1\n", 49_000), ""},
		{"100k anchors", "a.yaml", lines("- &a%d 1\n", 90_000), ""},
		{"100k tags", "a.yaml", repeat("!a ", 100_000) + "1", ""},
		{"100k anchors in a row", "a.yaml", repeat("&a ", 100_000) + "1", ""},
		{"100k aliases in a row", "a.yaml", repeat("*a ", 100_000), ""},
		{"100k quotes", "a.yaml", repeat("'' ", 100_000), ""},
		{"100k block scalars", "a.yaml", repeat("a: |\n", 100_000), ""},
		{"100k merge keys", "a.yaml", repeat("<<: ", 100_000), ""},
		{"a number of 2 MB", "a.yaml", "a: " + repeat("9", 2<<20-10), diag.Syntax},
		{"a hexadecimal number of 2 MB", "a.yaml", "a: 0x" + repeat("f", 2<<20-10), ""},
		{"a number of 2 MB in JSON", "a.json", repeat("9", 2<<20-10), ""},
		{"2 MB of a name above many values", "a.yaml", "? " + repeat("x", 1<<20) + "\n:\n" + repeat(" - 1\n", 90_000), ""},
		{"a long name above many values", "a.yaml", repeat("x", 1<<20) + ":\n" + repeat(" - 1\n", 90_000), diag.TooBig},
		{"a long name above many values in JSON", "a.json", `{"` + repeat("x", 1<<20) + `": [` + repeat("1,", 200_000) + "1]}", diag.TooBig},
		{"alias bomb", "a.yaml", bomb(30), diag.TooBig},
		{"zero bytes", "a.yaml", repeat("\x00", 100_000), ""},
		{"zero bytes in JSON", "a.json", repeat("\x00", 100_000), diag.Syntax},
		{"invalid UTF-8", "a.yaml", "a: " + repeat("\xff", 100_000), diag.Syntax},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			var problems diag.List
			set := source.NewSet(fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, &problems)
			f := set.Load(tt.file, diag.Pos{})
			t.Logf("%v", time.Since(start).Round(time.Millisecond))
			for _, p := range problems.Sorted() {
				s := p.String()
				if len(s) > 300 {
					t.Errorf("the message has %d bytes", len(s))
				}
				t.Logf("%.200s", s)
			}
			switch {
			case tt.code == "" && problems.Len() > 0 || tt.code != "" && problems.Len() == 1 && problems.Sorted()[0].Code == tt.code:
			case tt.code == "" && f != nil:
			default:
				t.Errorf("%d problems, want %s", problems.Len(), tt.code)
			}
			if (f == nil) != (problems.Len() > 0) {
				t.Errorf("file is nil: %v, %d problems", f == nil, problems.Len())
			}
		})
	}
}

// chain is a document in which each value holds the one before.
func chain(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	return b.String()
}

// bomb is a document that would have 2^n values.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}
