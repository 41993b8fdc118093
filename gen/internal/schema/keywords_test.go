package schema_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/idem-go/idem/gen/internal/schema"
)

var update = flag.Bool("update", false, "write docs/keywords.md")

const intro = `# JSON Schema in contracts

Which keywords of JSON Schema (draft-07, as AsyncAPI uses it) idemgen understands. Generated decoding and ` + "`Validate`" + ` together accept exactly what a validator accepts that asserts
formats, except for integers beyond 64 bits, which are refused. This table is made from the code: ` + "`go test ./gen/internal/schema -run Keywords -update`" + `.

`

const naming = `
## Names in Go

What a $ref leads to is one type, called as the last part of the reference: ` + "`#/components/schemas/pedidoId`" + ` is ` + "`PedidoID`" + `. Scalars without enum, lists and maps have no name. What is written
in place is called as what it is part of and its own part: ` + "`PedidoCriadoItensItem`" + `. A payload is called as its message. If it refers to a component of the same name, that is the type; else it
is a type of the message alone, even if other messages and members refer to the same component. So are headers: ` + "`PedidoCriadoHeaders`" + `. Letters lose their accents, words such as ID and URL are
capitals, and two names that would be one are an error (IDEM110), as is one that idemgen needs itself (IDEM111).
`

// The published table is the one that the code goes by.
func TestKeywordsArePublished(t *testing.T) {
	const path = "../../../docs/keywords.md"
	want := intro + strings.TrimSpace(schema.Keywords()) + "\n" + naming
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the code says (%v): run with -update", path, err)
	}
}
