package render_test

import (
	"bytes"
	"flag"
	"os"
	"path"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/render"
	"github.com/idem-go/idem/gen/internal/source"
)

var update = flag.Bool("update", false, "write the generated packages in difftest anew")

func loadDifftest(t testing.TB) *model.Contract {
	t.Helper()
	var problems diag.List
	set := source.NewSet(os.DirFS("difftest"), &problems)
	c := asyncapi.Load(set, &problems, "asyncapi.yaml", asyncapi.Options{MessageHeader: "name"})
	for _, p := range problems.Sorted() {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return c
}

func loadGo(t testing.TB) *model.Contract {
	t.Helper()
	body, err := os.ReadFile("difftest/gomsg/types_test.go") // a contract is in no test file
	if err != nil {
		t.Fatal(err)
	}
	var problems diag.List
	c := gosrc.Load(fstest.MapFS{"gomsg/types.go": {Data: body}}, "gomsg", &problems, gosrc.Options{})
	for _, p := range problems.Sorted() {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// The generated packages in difftest, whose tests prove what generated
// messages do, are what the renderer writes today:
// go test -run TestDifftest -update
func TestDifftest(t *testing.T) {
	for pkg, load := range map[string]func(testing.TB) *model.Contract{
		"difftest": loadDifftest, "difftest/gomsg": loadGo, "difftest/byhand": byHand,
	} {
		body, err := render.Messages(load(t), path.Base(pkg))
		if err != nil {
			t.Fatal(err)
		}
		file := pkg + "/messages_gen_test.go" // the generator does not carry the library, only its tests do
		if *update {
			if err := os.WriteFile(file, body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, body) {
			t.Errorf("%s is not up to date (%v): go test -run TestDifftest -update", file, err)
		}
		again, err := render.Messages(load(t), path.Base(pkg))
		if err != nil || !bytes.Equal(again, body) {
			t.Errorf("%s: the second time it is written differently (%v)", pkg, err)
		}
	}
}
