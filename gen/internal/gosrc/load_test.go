package gosrc_test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
	"github.com/idem-go/idem/gen/internal/model"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T, root fs.FS, dir string, opt gosrc.Options) *model.Contract {
	t.Helper()
	var problems diag.List
	c := gosrc.Load(root, dir, &problems, opt)
	for _, p := range problems.Sorted() {
		t.Error(p)
	}
	if c == nil {
		t.FailNow()
	}
	return c
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update if it is right:\n%s", name, diff)
	}
}

func TestModelOfAPackage(t *testing.T) {
	c := load(t, os.DirFS("testdata"), "pedidos", gosrc.Options{})
	golden(t, "testdata/pedidos.model", dump(c))
}

// Each archive holds a package and what idemgen says about it.
func TestWrongPackages(t *testing.T) {
	seen := map[diag.Code]bool{}
	files, _ := filepath.Glob("testdata/wrong/*.txtar")
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			root, want := fstest.MapFS{}, -1
			for i, f := range archive.Files {
				if f.Name == "want" {
					want = i
					continue
				}
				root[path.Join("p", f.Name)] = &fstest.MapFile{Data: f.Data}
			}
			var problems diag.List
			if c := gosrc.Load(root, "p", &problems, gosrc.Options{}); c != nil {
				t.Error("there is a contract in spite of problems")
			}
			var got strings.Builder
			for _, p := range problems.Sorted() {
				seen[p.Code] = true
				got.WriteString(p.String() + "\n")
				for _, r := range p.Related {
					got.WriteString("\t" + r.Pos.String() + ": " + r.Note + "\n")
				}
			}
			if *update {
				if want < 0 {
					archive.Files = append(archive.Files, txtar.File{Name: "want"})
					want = len(archive.Files) - 1
				}
				archive.Files[want].Data = []byte(got.String())
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(archive.Files[want].Data), got.String()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	for _, info := range diag.Codes() {
		if "IDEM160" <= info.Code && info.Code <= "IDEM189" && !seen[info.Code] {
			t.Errorf("no case shows %s: %s", info.Code, info.Title)
		}
	}
}

// dump shows a model, recursive types by their names.
func dump(c *model.Contract) []byte {
	plain := *c
	out, err := json.MarshalIndent(plainContract(&plain), "", "  ")
	if err != nil {
		panic(err)
	}
	return append(out, '\n')
}
