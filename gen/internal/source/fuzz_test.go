package source_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1\n", "a: &x [1, {b: *x}]\n", "- - - 1\n", "a: |\n  x\n", "? a\n: b\n", "{a: [b, \"c\"]}", "a:\tb\r\n", "<<: *a", "!!x y", "a: 0x1F\nb: 012\nc: 1e3",
		"a: {$ref: '#/b'}\nb: {$ref: '#/a'}\n", "---\na: 1\n...\n", "\ufeffa: é\n", "a: >-\n\n  x\n\n", "%YAML 1.2\n---\na: 1\n", "a: 'x''y'\nb: \"\\u00e9\"\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, "a.yaml", text) })
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.5e3, null, true, "x\u00e9"]}`, `[[[]]]`, `{"a": 1, "a": 2}`, `{} {}`, `{"$ref": "#"}`, "\ufeff{}", `{"a":1,}`, `"\ud800"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := check(t, "a.json", text)
		// encoding/json, which takes the last of two members, is the oracle.
		valid := json.Valid([]byte(strings.TrimPrefix(text, "\ufeff")))
		if root != nil && !valid {
			t.Error("accepts what is no JSON")
		}
		if root == nil {
			return
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(root); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// check loads a file: it either has a root and no problems, or no root and a
// problem; places are in the file and the tree is within the limits.
func check(t *testing.T, name, text string) *source.Node {
	t.Helper()
	var problems diag.List
	set := source.NewSet(fstest.MapFS{name: {Data: []byte(text)}}, &problems)
	f := set.Load(name, diag.Pos{File: name})
	duplicates := 0
	for _, p := range problems.Sorted() {
		if strings.ContainsAny(p.Message, "\n\r") {
			t.Errorf("a message of two lines: %q", p.Message)
		}
		if p.Code == diag.DuplicateKey {
			duplicates++
		}
	}
	if f == nil {
		if problems.Len() == 0 {
			t.Error("nothing is said")
		}
		return nil
	}
	if problems.Len() > duplicates {
		t.Errorf("a root and problems: %v", problems.Sorted())
	}
	nodes := 0
	var walk func(n *source.Node, depth int)
	walk = func(n *source.Node, depth int) {
		if nodes++; depth > 64 || nodes > 400_000 {
			t.Fatal("beyond the limits")
		}
		if n.Pos.Line < 1 || n.Pos.Line > len(f.Lines) || n.Pos.Col < 1 || n.Pos.Col > len([]rune(f.Lines[n.Pos.Line-1]))+1 {
			t.Errorf("%s is at %v, which is outside the file", n.Path, n.Pos)
		}
		if got := set.Deref(n); got != nil && got.Get("$ref") != nil {
			t.Errorf("%s leads to another reference", n.Path)
		}
		for _, c := range n.Fields {
			walk(c.Value, depth+1)
		}
		for _, c := range n.Items {
			walk(c, depth+1)
		}
	}
	walk(f.Root, 0)
	if duplicates > 0 {
		return nil
	}
	return f.Root
}

func plain(n *source.Node) any {
	switch n.Kind {
	case source.Null:
		return nil
	case source.Bool:
		return n.Text == "true"
	case source.Int, source.Float:
		return json.Number(n.Text)
	case source.String:
		return n.Text
	case source.List:
		out := []any{}
		for _, c := range n.Items {
			out = append(out, plain(c))
		}
		return out
	default:
		out := map[string]any{}
		for _, f := range n.Fields {
			out[f.Name] = plain(f.Value)
		}
		return out
	}
}
