package gosrc_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
	"github.com/idem-go/idem/gen/internal/source"
)

// Whatever the source, there is a contract or a problem with a place, and what
// is exported of a contract can be read.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"testdata/pedidos/pedido.go", "testdata/pedidos/resto.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	files, _ := filepath.Glob("testdata/wrong/*.txtar")
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	for _, text := range []string{
		"package p\ntype A = A\n//idem:operation name=o topic=t\ntype B struct{ A A }\n",
		"package p\n//idem:operation name=o topic=t\ntype A struct{ B B `idem:\"key\"` }\ntype B C\ntype C B\n",
		"package p\n//idem:operation name=o topic=t\ntype A struct{ B }\ntype B struct{ A; X X }\ntype X []map[string]X\n",
		"package p\n//idem:operation name=o topic=t\ntype A struct{ S S `idem:\"key\"`; A []A }\ntype S string\nconst C S = \"\\x00\\u2028\\U000e0001\"\n",
		"package p\n//line x.go:1\n//idem:operation name=o topic=t key=/~2\ntype A struct{}\ntype A struct{}\n",
		"package p\nimport . \"time\"\n//idem:send name=o topic=t\ntype A struct{ T Time; C.int; N N }\nimport \"C\"\ntype N[P any] N[N[P]]\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := fstest.MapFS{"p/a.go": {Data: []byte(text)}}
		var problems diag.List
		c := gosrc.Load(root, "p", &problems, gosrc.Options{MessageHeader: "name"})
		if (c == nil) != (problems.Len() > 0) {
			t.Fatalf("contract %v with problems %v", c != nil, problems.Sorted())
		}
		for _, p := range problems.Sorted() {
			if p.Code != diag.TooMany && p.Pos.File == "" || p.Message == "" {
				t.Errorf("a problem without place or words: %s", p)
			}
		}
		if c == nil {
			return
		}
		out := gosrc.Export(c)
		var wrong diag.List
		if set := source.NewSet(fstest.MapFS{"a.yaml": {Data: out}}, &wrong); set.Load("a.yaml", diag.Pos{}) == nil {
			t.Errorf("what was exported cannot be read: %v\n%s", wrong.Sorted(), out)
		}
	})
}
