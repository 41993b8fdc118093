package corpus

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/gen/internal/jsonschemas"
)

func compiled(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The published schemas have nothing against x-idempotency and idemgen.yaml
// where idemgen has nothing against them.
func TestPublishedSchemas(t *testing.T) {
	t.Parallel()
	extension, config := compiled(t, jsonschemas.XIdempotency()), compiled(t, jsonschemas.Config())
	extensions, configs := 0, 0
	for _, d := range documents(t) {
		if !d.ofCorpus() && len(d.problems()) > 0 {
			continue
		}
		each(d.value(), func(x any) {
			extensions++
			if err := extension.Validate(x); err != nil {
				t.Errorf("%s: %v", d.name, err)
			}
		})
	}
	for _, dir := range []string{contracts, repository + "/examples"} {
		err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
			if err == nil && e.Name() == "idemgen.yaml" {
				configs++
				v := document{fsys: os.DirFS(filepath.Dir(file)), path: e.Name()}.value()
				if err := config.Validate(v); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
			if err == nil && filepath.Base(filepath.Dir(filepath.Dir(file))) != "contracts" && strings.HasSuffix(file, "traits.yaml") {
				traits, _ := document{fsys: os.DirFS(filepath.Dir(file)), path: e.Name()}.value().(map[string]any)
				each(traits, func(x any) {
					extensions++
					if err := extension.Validate(x); err != nil {
						t.Errorf("%s: %v", file, err)
					}
				})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if extensions < 60 || configs < 12 {
		t.Errorf("%d extensions and %d configurations were checked: the test looks at the wrong thing", extensions, configs)
	}
}

// each calls do with every x-idempotency below v.
func each(v any, do func(any)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if name == "x-idempotency" {
				do(member)
			} else {
				each(member, do)
			}
		}
	case []any:
		for _, item := range v {
			each(item, do)
		}
	}
}
