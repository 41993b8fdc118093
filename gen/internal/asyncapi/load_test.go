package asyncapi

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

func TestFirst(t *testing.T) {
	var problems diag.List
	set := source.NewSet(os.DirFS("testdata"), &problems)
	c := Load(set, &problems, "pedidos.yaml", Options{})
	for _, p := range problems.Sorted() {
		t.Log(p)
	}
	if c == nil {
		t.Fatal("nil")
	}
	b, _ := json.MarshalIndent(c.Operations, "", " ")
	t.Logf("%s", b)
}
