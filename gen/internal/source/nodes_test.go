package source_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// load reads one file and returns it with what was reported.
func load(name, text string) (*source.File, []string) {
	var problems diag.List
	set := source.NewSet(fstest.MapFS{name: {Data: []byte(text)}}, &problems)
	f := set.Load(name, diag.Pos{File: name})
	var out []string
	for _, p := range problems.Sorted() {
		s := p.String()
		for _, r := range p.Related {
			s += " | " + r.Pos.String() + ": " + r.Note
		}
		out = append(out, s)
	}
	return f, out
}

// dump writes a line for each node: pointer, place of the name, place, value.
func dump(n *source.Node) string {
	var b strings.Builder
	var walk func(n *source.Node, name string)
	walk = func(n *source.Node, name string) {
		fmt.Fprintf(&b, "%s%s %d:%d %s", n.Path, name, n.Pos.Line, n.Pos.Col, n.Kind)
		if n.Kind != source.Map && n.Kind != source.List {
			fmt.Fprintf(&b, " %q", n.Text)
		}
		b.WriteString("\n")
		for _, f := range n.Fields {
			walk(f.Value, fmt.Sprintf(" %d:%d", f.NamePos.Line, f.NamePos.Col))
		}
		for _, item := range n.Items {
			walk(item, "")
		}
	}
	walk(n, "")
	return b.String()
}

func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"block", "a.yaml", "a: 1\nb:\n  c: x\n  d:\n  - 1\n  - e: 2\n    f: 3\n", `
 1:1 object
/a 1:1 1:4 integer "1"
/b 2:1 3:3 object
/b/c 3:3 3:6 string "x"
/b/d 4:3 5:3 list
/b/d/0 5:5 integer "1"
/b/d/1 6:5 object
/b/d/1/e 6:5 6:8 integer "2"
/b/d/1/f 7:5 7:8 integer "3"
`},
		{"flow", "a.yaml", "a: {b: [1, {c: x}], \"d\": 'y'}\n", `
 1:1 object
/a 1:1 1:4 object
/a/b 1:5 1:8 list
/a/b/0 1:9 integer "1"
/a/b/1 1:12 object
/a/b/1/c 1:13 1:16 string "x"
/a/d 1:21 1:26 string "y"
`},
		{"JSON", "a.json", "{\"a\": 1,\n  \"b\" : [ true , null,\n{\"c~/d\": \"x\"}] }\n", `
 1:1 object
/a 1:2 1:7 integer "1"
/b 2:3 2:9 list
/b/0 2:11 boolean "true"
/b/1 2:18 null "null"
/b/2 3:1 object
/b/2/c~0~1d 3:2 3:10 string "x"
`},
		{"carriage returns", "a.yaml", "a: 1\r\nb:\r\n  c: x\r\n", `
 1:1 object
/a 1:1 1:4 integer "1"
/b 2:1 3:3 object
/b/c 3:3 3:6 string "x"
`},
		{"carriage returns in JSON", "a.json", "{\r\n\"a\": 1,\r\n\"b\": 2}", `
 1:1 object
/a 2:1 2:6 integer "1"
/b 3:1 3:6 integer "2"
`},
		{"byte order mark", "a.yaml", "\ufeffa: 1\n", " 1:1 object\n/a 1:1 1:4 integer \"1\"\n"},
		{"byte order mark in JSON", "a.json", "\ufeff{\"a\": 1}", " 1:1 object\n/a 1:2 1:7 integer \"1\"\n"},
		{"columns count characters", "a.yaml", "ação: {é: 世界, x: 1}\n", `
 1:1 object
/ação 1:1 1:7 object
/ação/é 1:8 1:11 string "世界"
/ação/x 1:15 1:18 integer "1"
`},
		{"columns count characters in JSON", "a.json", "{\"ação\": {\"é\": \"世界\", \"x\": 1}}", `
 1:1 object
/ação 1:2 1:10 object
/ação/é 1:11 1:16 string "世界"
/ação/x 1:22 1:27 integer "1"
`},
		{"tabs after the colon", "a.yaml", "a:\t1\nb:\t\tx\n", `
 1:1 object
/a 1:1 1:4 integer "1"
/b 2:1 2:5 string "x"
`},
		{"an alias is where its anchor is", "a.yaml", "a: &x {b: 1}\nc: *x\n", `
 1:1 object
/a 1:1 1:7 object
/a/b 1:8 1:11 integer "1"
/a 2:1 1:7 object
/a/b 1:8 1:11 integer "1"
`},
		{"comments and documents", "a.yaml", "# hello\n---\n# a\na: 1 # x\n# b\nb: 2\n", `
 4:1 object
/a 4:1 4:4 integer "1"
/b 6:1 6:4 integer "2"
`},
		{"texts over lines", "a.yaml", "a: |\n  x\n  y\nb: >-\n  x\n  y\nc: x\n  y\nd: \"x\n  y\"\ne: 1\n", `
 1:1 object
/a 1:1 1:4 string "x\ny\n"
/b 4:1 4:4 string "x y"
/c 7:1 7:4 string "x y"
/d 9:1 9:4 string "x y"
/e 11:1 11:4 integer "1"
`},
		{"nothing", "a.yaml", "a:\nb: ~\nc: null\nd: {}\ne: []\nf: ''\n", `
 1:1 object
/a 1:1 1:3 null "null"
/b 2:1 2:4 null "null"
/c 3:1 3:4 null "null"
/d 4:1 4:4 object
/e 5:1 5:4 list
/f 6:1 6:4 string ""
`},
		{"$ref needs quotes, $message does not", "a.yaml", "a: {$ref: '#/b'}\nb: $message.payload#/x\n", `
 1:1 object
/a 1:1 1:4 object
/a/$ref 1:5 1:11 string "#/b"
/b 2:1 2:4 string "$message.payload#/x"
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, problems := load(tt.file, tt.text)
			if f == nil {
				t.Fatal(problems)
			}
			if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), dump(f.Root)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Scalars mean what they mean in JSON: YAML 1.2, and no digit is lost.
func TestScalars(t *testing.T) {
	for in, want := range map[string]string{
		"1": "integer 1", "-7": "integer -7", "+7": "integer 7", "0": "integer 0", "-0": "integer 0",
		"0x1F": "integer 31", "0o17": "integer 15", "0b101": "integer 5",
		"18446744073709551615": "integer 18446744073709551615", "-9223372036854775809": "integer -9223372036854775809",
		"123456789012345678901234567890": "integer 123456789012345678901234567890",
		"1.5":                            "number 1.5", "1.0": "number 1.0", "1e3": "number 1e3", "1E+3": "number 1E+3", "-1.5e-3": "number -1.5e-3",
		"0.1000000000000000055511151231257827": "number 0.1000000000000000055511151231257827",
		"true":                                 "boolean true", "False": "boolean false", "TRUE": "boolean true", "null": "null null", "~": "null null", "Null": "null null",
		"yes": "string yes", "no": "string no", "on": "string on", "Off": "string Off", "y": "string y", "n": "string n",
		"2026-08-05": "string 2026-08-05", "12:30": "string 12:30", "1.2.3": "string 1.2.3", "3.0.0": "string 3.0.0", "200ms..30s": "string 200ms..30s",
		"'1'": "string 1", `"1"`: "string 1", "'true'": "string true", `"\u00e9\n"`: "string é\n", "''": "string ",
		"0x": "string 0x", "1e": "string 1e",
	} {
		t.Run(in, func(t *testing.T) {
			f, problems := load("a.yaml", "a: "+in+"\n")
			if f == nil {
				t.Fatal(problems)
			}
			if n := f.Root.Get("a"); n.Kind.String()+" "+n.Text != want {
				t.Errorf("is %s %q, want %s", n.Kind, n.Text, want)
			}
		})
	}
}

func TestSyntax(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"leading zero", "a.yaml", "a: 012\n", "a.yaml:1:4: IDEM002: a number must not begin with 0 (quote it if it is text, or drop the zeros)"},
		{"leading zero, no octal", "a.yaml", "a: 09\n", "a.yaml:1:4: IDEM002: a number must not begin with 0 (quote it if it is text, or drop the zeros)"},
		{"negative leading zero", "a.yaml", "a: -012\n", "a.yaml:1:4: IDEM002: a number must not begin with 0 (quote it if it is text, or drop the zeros)"},
		{"number without zero", "a.yaml", "a: .5\n", `a.yaml:1:4: IDEM002: ".5" is not a number as JSON knows it (write it as 1.5 or 1e3)`},
		{"underscores", "a.yaml", "a: 1_000\n", `a.yaml:1:4: IDEM002: "1_000" is not a number as JSON knows it (quote it if it is text)`},
		{"infinity", "a.yaml", "a: .inf\n", "a.yaml:1:4: IDEM002: JSON has no such number"},
		{"not a number", "a.yaml", "a: .nan\n", "a.yaml:1:4: IDEM002: JSON has no such number"},
		{"tag", "a.yaml", "a: !!str 1\n", "a.yaml:1:4: IDEM002: YAML tags are not supported (remove it, or quote a text that begins with !)"},
		{"merge key", "a.yaml", "a: &x {b: 1}\nc:\n  <<: *x\n", "a.yaml:3:3: IDEM002: YAML merge keys are not supported (use traits, allOf or $ref)"},
		{"unknown alias", "a.yaml", "a: *x\n", `a.yaml:1:4: IDEM002: alias "x" has no anchor before it`},
		{"alias of what it is in", "a.yaml", "a: &x [*x]\n", `a.yaml:1:8: IDEM002: alias "x" has no anchor before it`},
		{"two documents", "a.yaml", "a: 1\n---\nb: 1\n", "a.yaml:3:1: IDEM002: a second document begins here (put it into a file of its own)"},
		{"empty", "a.yaml", "", "a.yaml: IDEM002: the file is empty"},
		{"comments only", "a.yaml", "# a\n", "a.yaml: IDEM002: the file is empty"},
		{"empty JSON", "a.json", "", "a.json:1:1: IDEM002: the JSON value ends too early"},
		{"JSON that ends", "a.json", "{\"a\":\n 1", "a.json:2:3: IDEM002: the JSON value ends too early"},
		{"JSON with a comma too many", "a.json", "{\"a\": 1,\n}", "a.json:2:1: IDEM002: invalid character '}' looking for beginning of object key string"},
		{"JSON with a comma too few", "a.json", "[1 2]", "a.json:1:4: IDEM002: invalid character '2' after array element"},
		{"JSON with more", "a.json", "{} x", "a.json:1:4: IDEM002: there is more text after the JSON value"},
		{"two JSON values", "a.json", "{} {}", "a.json:1:4: IDEM002: there is more text after the JSON value"},
		{"not UTF-8", "a.yaml", "a: \xff\n", "a.yaml: IDEM002: the file is not UTF-8 text (save it as UTF-8)"},
		{"JSON that is not UTF-8", "a.json", "\"\xff\"", "a.json: IDEM002: the file is not UTF-8 text (save it as UTF-8)"},
		{"duplicate", "a.yaml", "a: 1\nb: 2\na: 3\n", `a.yaml:3:1: IDEM007: key "a" is written twice in one object (remove one) | a.yaml:1:1: first here`},
		{"duplicate in braces", "a.yaml", "a: {b: 1, 'b': 3}\n", `a.yaml:1:11: IDEM007: key "b" is written twice in one object (remove one) | a.yaml:1:5: first here`},
		{"duplicate in JSON", "a.json", "{\"a\": 1,\n \"\\u0061\": 2}", `a.json:2:2: IDEM007: key "a" is written twice in one object (remove one) | a.json:1:2: first here`},
		{"bad indent", "a.yaml", "a:\n  b: 1\n c: 2\n", "?"},
		{"open bracket", "a.yaml", "a: [1, 2\nb: 1\n", "?"},
		{"open quote", "a.yaml", "a: \"x\nb: 1\n", "?"},
		{"tab as indent", "a.yaml", "a:\n\tb: 1\n", "?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, problems := load(tt.file, tt.text)
			if len(problems) != 1 {
				t.Fatalf("%d problems: %q, file %v", len(problems), problems, f != nil)
			}
			if tt.want == "?" {
				t.Log(problems[0])
				return
			}
			if problems[0] != tt.want {
				t.Errorf("got  %s\nwant %s", problems[0], tt.want)
			}
		})
	}
}
