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

// The published table is the one that the code goes by.
func TestKeywordsArePublished(t *testing.T) {
	const path = "../../../docs/keywords.md"
	want := intro + strings.TrimSpace(schema.Keywords()) + "\n"
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
