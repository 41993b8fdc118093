package gosrc_test

import (
	"os"
	"testing"

	"github.com/idem-go/idem/gen/internal/gosrc"
)

func TestExport(t *testing.T) {
	c := load(t, os.DirFS("testdata"), "pedidos", gosrc.Options{})
	golden(t, "testdata/pedidos.asyncapi.yaml", gosrc.Export(c))
}
