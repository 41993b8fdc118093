package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

var project = fstest.MapFS{
	"api/main.yaml": {Data: []byte(`
here: {$ref: '#/target'}
target: {name: target}
twice: {$ref: '#/here'}
other: {$ref: 'types/a.yaml#/x'}
whole: {$ref: 'types/a.yaml'}
up: {$ref: '../top.json#/list/1'}
back: {$ref: 'types/a.yaml#/back'}
escaped: {$ref: '#/a~1b~0c'}
percent: {$ref: '#/with%20space'}
a/b~c: {name: escaped}
with space: {name: percent}
alias: &n {name: aliased}
aliased: {$ref: '#/again/x'}
again: {x: *n}
null: {$ref: '#/nothing'}
nothing: ~
self: {$ref: '#/self'}
one: {$ref: '#/two'}
two: {$ref: '#/three'}
three: {$ref: '#/one'}
round: {$ref: 'types/a.yaml#/round'}
missing: {$ref: '#/nowhere'}
through: {$ref: '#/target/name/x'}
index: {$ref: '../top.json#/list/7'}
anchor: {$ref: '#target'}
nofile: {$ref: 'none.yaml#/x'}
folder: {$ref: 'types'}
number: {$ref: 7}
outside: {$ref: '../../x.yaml'}
hidden: {$ref: 'types/%2e%2e/%2e%2e/%2e%2e/x.yaml'}
absolute: {$ref: '/etc/passwd'}
http: {$ref: 'https://example.com/a.yaml#/x'}
urn: {$ref: 'urn:example'}
windows: {$ref: 'c:\a.yaml'}
broken: {$ref: 'broken.yaml#/x'}
brokenToo: {$ref: 'broken.yaml#/y'}
plain: {$ref: 'types/my%2.yaml'}
escapedRoot: {$ref: '%2Fetc%2Fpasswd'}
`)},
	"api/types/a.yaml":    {Data: []byte("x: {name: x}\nname: whole\nback: {$ref: '../main.yaml#/target'}\nround: {$ref: '../main.yaml#/round'}\n")},
	"api/types/my%2.yaml": {Data: []byte("name: plain\n")},
	"top.json":            {Data: []byte(`{"list": [{"name": "0"}, {"name": "1"}]}`)},
	"api/broken.yaml":     {Data: []byte("a: [\n")},
}

func TestDeref(t *testing.T) {
	for _, tt := range []struct{ field, name, problem string }{
		{"target", "target", ""},
		{"here", "target", ""},
		{"twice", "target", ""},
		{"other", "x", ""},
		{"whole", "whole", ""},
		{"up", "1", ""},
		{"back", "target", ""},
		{"escaped", "escaped", ""},
		{"percent", "percent", ""},
		{"aliased", "aliased", ""},
		{"self", "", `api/main.yaml:18:14: IDEM005: $ref "#/self" leads back to itself (let one of them be the definition itself)`},
		{"one", "", `api/main.yaml:19:13: IDEM005: $ref "#/two" leads back to itself (let one of them be the definition itself)`},
		{"round", "", `api/main.yaml:22:15: IDEM005: $ref "types/a.yaml#/round" leads back to itself (let one of them be the definition itself)`},
		{"missing", "", `api/main.yaml:23:17: IDEM004: $ref "#/nowhere" points to nothing`},
		{"through", "", `api/main.yaml:24:17: IDEM004: $ref "#/target/name/x" points to nothing`},
		{"index", "", `api/main.yaml:25:15: IDEM004: $ref "../top.json#/list/7" points to nothing`},
		{"anchor", "", `api/main.yaml:26:16: IDEM004: $ref "#target" points to nothing`},
		{"nofile", "", `api/main.yaml:27:16: IDEM001: cannot read "api/none.yaml": there is no such file`},
		{"folder", "", `api/main.yaml:28:16: IDEM001: cannot read "api/types": it is a folder`},
		{"number", "", `api/main.yaml:29:16: IDEM004: $ref must be a string, is integer`},
		{"outside", "", `api/main.yaml:30:17: IDEM006: $ref "../../x.yaml" is outside the root folder (copy what is needed below the root folder)`},
		{"hidden", "", `api/main.yaml:31:16: IDEM006: $ref "types/%2e%2e/%2e%2e/%2e%2e/x.yaml" is outside the root folder (copy what is needed below the root folder)`},
		{"absolute", "", `api/main.yaml:32:18: IDEM006: $ref "/etc/passwd" must be relative, with slashes (copy what is needed below the root folder)`},
		{"http", "", `api/main.yaml:33:14: IDEM006: $ref "https://example.com/a.yaml#/x" is not a local file (copy what is needed below the root folder)`},
		{"urn", "", `api/main.yaml:34:13: IDEM006: $ref "urn:example" must be relative, with slashes (copy what is needed below the root folder)`},
		{"windows", "", `api/main.yaml:35:17: IDEM006: $ref "c:\\a.yaml" must be relative, with slashes (copy what is needed below the root folder)`},
		{"plain", "plain", ""},
		{"escapedRoot", "", `api/main.yaml:39:21: IDEM006: $ref "%2Fetc%2Fpasswd" must be relative, with slashes (copy what is needed below the root folder)`},
		{"broken", "", `api/broken.yaml:1:4: IDEM002: sequence end token ']' not found`},
	} {
		t.Run(tt.field, func(t *testing.T) {
			var problems diag.List
			set := source.NewSet(project, &problems)
			root := set.Load("api/main.yaml", diag.Pos{})
			if root == nil {
				t.Fatal(problems.Sorted())
			}
			n := set.Deref(root.Root.Get(tt.field))
			var got string
			for _, p := range problems.Sorted() {
				got += p.String()
			}
			if got != tt.problem {
				t.Errorf("got  %s\nwant %s", got, tt.problem)
			}
			if (n != nil) != (tt.name != "") || n.Get("name") != nil && n.Get("name").Text != tt.name {
				t.Errorf("leads to %v, want %q", n, tt.name)
			}
		})
	}
}

// A file that cannot be read is reported once, whoever refers to it.
func TestBrokenOnce(t *testing.T) {
	var problems diag.List
	set := source.NewSet(project, &problems)
	root := set.Load("api/main.yaml", diag.Pos{}).Root
	if set.Deref(root.Get("broken")) != nil || set.Deref(root.Get("brokenToo")) != nil || problems.Len() != 1 {
		t.Error(problems.Sorted())
	}
}

func TestManyFiles(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 600 {
		files[fmt.Sprintf("%d.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "a: {$ref: '%d.yaml#/a'}\n", i+1)}
	}
	var problems diag.List
	set := source.NewSet(files, &problems)
	if set.Deref(set.Load("0.yaml", diag.Pos{}).Root.Get("a")) != nil {
		t.Error("it was read to the end")
	}
	if got := problems.Sorted(); len(got) != 1 || got[0].String() != "499.yaml:1:11: IDEM003: the contract has more than 500 files" {
		t.Error(got)
	}
}

func TestBigTogether(t *testing.T) {
	files := fstest.MapFS{}
	var list strings.Builder
	for i := range 5 {
		files[fmt.Sprintf("%d.json", i)] = &fstest.MapFile{Data: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
		fmt.Fprintf(&list, "- {$ref: '%d.json'}\n", i)
	}
	files["a.yaml"] = &fstest.MapFile{Data: []byte(list.String())}
	var problems diag.List
	set := source.NewSet(files, &problems)
	for _, n := range set.Load("a.yaml", diag.Pos{}).Root.Items {
		set.Deref(n)
	}
	if got := problems.Sorted(); len(got) == 0 || got[0].String() != "a.yaml:4:10: IDEM003: the contract's files have more than 4194304 bytes together" {
		t.Error(got)
	}
}

// The root folder is that of os.Root: links do not lead out of it.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("secret.yaml", "a: secret\n")
	write("root/in.yaml", "a: 1\n")
	link("../secret.yaml", "root/out.yaml")
	link("/etc/passwd", "root/passwd.yaml")
	link("in.yaml", "root/link.yaml")
	link("loop.yaml", "root/loop.yaml")
	link("..", "root/up")
	if err := syscall.Mkfifo(filepath.Join(dir, "root/pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	for name, want := range map[string]string{
		"link.yaml":      "",
		"out.yaml":       "IDEM006",
		"passwd.yaml":    "IDEM006",
		"up/secret.yaml": "IDEM006",
		"loop.yaml":      "IDEM001",
		"pipe.yaml":      "IDEM001",
	} {
		var problems diag.List
		f := source.NewSet(root.FS(), &problems).Load(name, diag.Pos{})
		switch got := problems.Sorted(); {
		case want == "" && f != nil && len(got) == 0:
		case want != "" && f == nil && len(got) == 1 && string(got[0].Code) == want:
		default:
			t.Errorf("%s: %v", name, got)
		}
	}
}
