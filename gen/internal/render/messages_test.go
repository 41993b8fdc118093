package render_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/render"
	"github.com/idem-go/idem/gen/internal/source"
)

var update = flag.Bool("update", false, "write difftest/messages_gen.go anew")

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

// The generated package in difftest, whose tests prove what generated messages
// do, is what the renderer writes today: go test -run TestDifftest -update
func TestDifftest(t *testing.T) {
	body, err := render.Messages(loadDifftest(t), "difftest")
	if err != nil {
		t.Fatal(err)
	}
	const file = "difftest/messages_gen.go"
	if *update {
		if err := os.WriteFile(file, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, body) {
		t.Errorf("%s is not up to date (%v): go test -run TestDifftest -update", file, err)
	}
	again, err := render.Messages(loadDifftest(t), "difftest")
	if err != nil || !bytes.Equal(again, body) {
		t.Errorf("the second time it is written differently (%v)", err)
	}
}
