package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/gen"
)

// Contracts that nobody has written by hand are refused soon, with a problem
// and not with a crash, and nothing is written.
func TestHostileContracts(t *testing.T) {
	const head = "asyncapi: 3.0.0\ninfo: {title: A, version: '1'}\n"
	for _, tc := range []struct {
		name, contract string
		codes          []string // one of them
	}{
		{"10 MB", head + "# " + strings.Repeat("x", 10<<20) + "\n", []string{"IDEM003"}},
		{"10 MB of members", head + members(400_000), []string{"IDEM003"}},
		{"deep lists", head + "x-a: " + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "\n", []string{"IDEM003"}},
		{"deep objects", head + "x-a: " + strings.Repeat("{a: ", 50_000) + strings.Repeat("}", 50_000) + "\n", []string{"IDEM003"}},
		{"deep by indent", head + deep(3_000), []string{"IDEM003"}},
		{"unclosed lists", head + "x-a: " + strings.Repeat("[", 1_000_000), []string{"IDEM003", "IDEM002"}},
		{"an alias bomb", head + aliases(40), nil},
		{"a reference bomb", references(24, 8), nil},
		{"references in a circle", circle(1_000), nil},
		{"allOf in a circle", payload("{allOf: [{$ref: '#/components/schemas/s'}]}"), nil},
		{"a schema that is itself", payload("{$ref: '#/components/schemas/s'}"), []string{"IDEM005"}},
		{"a reference out of the project", payload("{$ref: '../../../etc/passwd'}"), []string{"IDEM006"}},
		{"a reference into the net", payload("{$ref: 'http://example.com/a.json'}"), []string{"IDEM006"}},
		{"a million dashes", head + "x-a:\n" + strings.Repeat("- ", 1_000_000) + "\n", []string{"IDEM003", "IDEM002"}},
		{"null bytes", strings.Repeat("\x00", 1<<20), []string{"IDEM002", "IDEM020"}},
		{"not UTF-8", head + "x-a: \xff\xfe\n", []string{"IDEM002"}},
		{"nothing", "", nil},
		{"a huge pattern", payload("{type: object, required: [k], properties: {k: {type: string, pattern: '" + strings.Repeat("(a{1000})", 50) + "{1000}'}}}"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := newProject(t, tc.contract)
			before := tree(t, dir)
			start := time.Now()
			report, err := gen.Generate(options(dir))
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 60*time.Second { // 2 s; the race detector and others on the machine may take many times that
				t.Errorf("took %v", took)
			} else {
				t.Logf("took %v: %v", took, first(report.Problems))
			}
			if len(report.Problems) == 0 {
				t.Fatal("it was not refused")
			}
			if tc.codes != nil && !slices.ContainsFunc(report.Problems, func(p gen.Problem) bool { return slices.Contains(tc.codes, string(p.Code)) }) {
				t.Errorf("got %v, want one of %v", first(report.Problems), tc.codes)
			}
			for _, p := range report.Problems {
				if line := p.String(); len(line) > 2_000 || strings.ContainsAny(line, "\n\x00") {
					t.Errorf("the problem is no line to read: %.200q", line)
				}
			}
			if after := tree(t, dir); len(after) != len(before) {
				t.Errorf("%d files, there were %d", len(after), len(before))
			}
		})
	}
}

// Contracts that are large in an odd way are no slower than those that are
// large, and what is generated is not larger than they are.
func TestOddContracts(t *testing.T) {
	for name, contract := range map[string]string{
		"a chain of required components":   required(2000, 1),
		"components that hold thrice each": required(20, 3),
		"a sample that would be huge":      required(10, 3),
	} {
		t.Run(name, func(t *testing.T) {
			dir := newProject(t, contract)
			report, err := gen.Generate(options(dir)) // hours, if every component is looked at for every other
			if err != nil || len(report.Problems) > 0 {
				t.Fatal(err, first(report.Problems))
			}
			for _, c := range report.Changes {
				info, err := os.Stat(filepath.Join(dir, c[2:]))
				if err != nil || info.Size() > 3<<20 {
					t.Errorf("%s: %v, %v", c, info, err)
				}
			}
		})
	}
}

// required is a chain of components each of which has to hold the next one
// several times.
func required(depth, width int) string {
	var b strings.Builder
	b.WriteString(payload("{type: object, required: [k, m], properties: {k: {type: string}, m: {$ref: '#/components/schemas/s0'}}}"))
	for i := range depth {
		var names, members []string
		for j := range width {
			names = append(names, fmt.Sprintf("m%d", j))
			members = append(members, fmt.Sprintf("m%d: {$ref: '#/components/schemas/s%d'}", j, i+1))
		}
		fmt.Fprintf(&b, "    s%d: {type: object, required: [%s], properties: {%s}}\n", i, strings.Join(names, ", "), strings.Join(members, ", "))
	}
	fmt.Fprintf(&b, "    s%d: {type: object, required: [x], properties: {x: {type: string, minLength: 1}}}\n", depth)
	return b.String()
}

func first(problems []gen.Problem) string {
	if len(problems) == 0 {
		return "no problem"
	}
	return fmt.Sprintf("%.200s", problems[0].String())
}

func members(n int) string {
	var b strings.Builder
	b.WriteString("x-a:\n")
	for i := range n {
		fmt.Fprintf(&b, "  member%d: value%[1]d\n", i)
	}
	return b.String()
}

func deep(n int) string {
	var b strings.Builder
	b.WriteString("x-a:\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

// aliases is an object that would have 10^n values if aliases were copied.
func aliases(n int) string {
	var b strings.Builder
	b.WriteString("x-a0: &a0 [1, 2]\n")
	for i := range n {
		fmt.Fprintf(&b, "x-a%d: &a%[1]d [%s*a%d]\n", i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return b.String()
}

// payload is a contract with one operation and the schema of its payload.
func payload(schema string) string {
	return `asyncapi: 3.0.0
info: {title: A, version: '1'}
channels:
  c: {address: c, messages: {m: {$ref: '#/components/messages/m'}}}
operations:
  o: {action: receive, channel: {$ref: '#/channels/c'}, x-idempotency: {key: $message.payload#/k}}
components:
  messages:
    m: {payload: {$ref: '#/components/schemas/s'}}
  schemas:
    s: ` + schema + "\n"
}

// references is a chain of schemas that each use the next one several times:
// width^depth values if they were copied.
func references(depth, width int) string {
	var b strings.Builder
	b.WriteString(payload("{allOf: [{$ref: '#/components/schemas/s0'}]}"))
	for i := range depth {
		var uses []string
		for range width {
			uses = append(uses, fmt.Sprintf("{$ref: '#/components/schemas/s%d'}", i+1))
		}
		fmt.Fprintf(&b, "    s%d: {allOf: [%s]}\n", i, strings.Join(uses, ", "))
	}
	fmt.Fprintf(&b, "    s%d: {type: object, properties: {k: {type: string}}}\n", depth)
	return b.String()
}

func circle(n int) string {
	var b strings.Builder
	b.WriteString(payload("{$ref: '#/components/schemas/s0'}"))
	for i := range n {
		fmt.Fprintf(&b, "    s%d: {$ref: '#/components/schemas/s%d'}\n", i, (i+1)%n)
	}
	return b.String()
}

// A contract may be many files; together they are bounded too.
func TestTooManyFiles(t *testing.T) {
	dir := newProject(t, "")
	const n = 600
	var b strings.Builder
	b.WriteString("asyncapi: 3.0.0\ninfo: {title: A, version: '1'}\nchannels:\n")
	for i := range n {
		fmt.Fprintf(&b, "  c%d: {$ref: 'c%[1]d.yaml'}\n", i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("c%d.yaml", i)), []byte("address: a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "asyncapi.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := gen.Generate(options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Problems, func(p gen.Problem) bool { return p.Code == "IDEM003" }) {
		t.Errorf("got %s", first(report.Problems))
	}
}
