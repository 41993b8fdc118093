package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// official compiles AsyncAPI's own JSON Schemas, by their versions. They are
// fetched by scripts/asyncapi-specs.sh; without them the test skips, or fails
// if IDEM_REQUIRE names asyncapi-specs.
func official(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	dir := os.Getenv("IDEM_TEST_ASYNCAPI")
	if dir == "" {
		const why = `IDEM_TEST_ASYNCAPI names no folder: eval "$(scripts/asyncapi-specs.sh)"`
		if slices.Contains(strings.Split(os.Getenv("IDEM_REQUIRE"), ","), "asyncapi-specs") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	out := map[string]*jsonschema.Schema{}
	for _, version := range []string{"3.0.0", "3.1.0"} {
		text, err := os.ReadFile(filepath.Join(dir, version+".json"))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("asyncapi.json", doc); err != nil {
			t.Fatal(err)
		}
		if out[version], err = c.Compile("asyncapi.json"); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// check returns what a schema has against a document, a line each.
func check(schemas map[string]*jsonschema.Schema, d document) ([]string, error) {
	doc, ok := d.value().(map[string]any)
	if !ok {
		return nil, errors.New("it cannot be read")
	}
	withoutProposal(doc)
	version := fmt.Sprint(doc["asyncapi"])
	if i := strings.LastIndexByte(version, '.'); i > 0 {
		version = version[:i] + ".0" // patches of the specification have no schemas of their own
	}
	schema := schemas[version]
	if schema == nil {
		return nil, fmt.Errorf("no schema for version %q", version)
	}
	doc["asyncapi"] = version
	err := schema.Validate(doc)
	var invalid *jsonschema.ValidationError
	if err != nil && !errors.As(err, &invalid) {
		return nil, err
	}
	return reasons(invalid), nil
}

// withoutProposal takes out the two fields of operations that are proposed
// for a later AsyncAPI, and that idemgen reads already.
func withoutProposal(doc map[string]any) {
	components, _ := doc["components"].(map[string]any)
	for _, section := range []any{doc["operations"], components["operations"], components["operationTraits"]} {
		operations, _ := section.(map[string]any)
		for _, o := range operations {
			if fields, ok := o.(map[string]any); ok {
				delete(fields, "retry")
				delete(fields, "deadLetter")
			}
		}
	}
}

// reasons are the innermost errors. Nearly every object may be a reference
// instead, so that each error comes with one about a missing $ref, which is
// left out unless it is all there is.
func reasons(err *jsonschema.ValidationError) []string {
	if err == nil {
		return nil
	}
	var all, missing []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) > 0 {
			return
		}
		line := e.Error()
		if required, ok := e.ErrorKind.(*kind.Required); ok && slices.Equal(required.Missing, []string{"$ref"}) {
			missing = append(missing, line)
		} else if !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	walk(err)
	if len(all) == 0 {
		return missing
	}
	return all
}

// What idemgen takes is AsyncAPI.
func TestContractsAreAsyncAPI(t *testing.T) {
	t.Parallel()
	schemas := official(t)
	checked := 0
	for _, d := range documents(t) {
		if !d.ofCorpus() && len(d.problems()) > 0 {
			continue // a test of what is refused
		}
		checked++
		lines, err := check(schemas, d)
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		for _, line := range lines {
			t.Errorf("%s: %s", d.name, line)
		}
	}
	if checked < 15 {
		t.Errorf("%d documents were checked: the test looks at the wrong thing", checked)
	}
	t.Logf("%d documents were checked", checked)
}

// A typo is one line, without what else the place could have been.
func TestReasons(t *testing.T) {
	t.Parallel()
	schemas := official(t)
	const text = `asyncapi: 3.0.0
info: {title: t, version: '1'}
channels: {c: {address: c}}
operations:
  o: {action: recv, channel: {$ref: '#/channels/c'}}
`
	document := func(text string) document {
		return document{fsys: fstest.MapFS{"a.yaml": {Data: []byte(text)}}, path: "a.yaml"}
	}
	lines, err := check(schemas, document(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"at '/operations/o/action': value must be one of 'send', 'receive'"}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	if lines, err = check(schemas, document(strings.Replace(text, "recv", "receive", 1))); err != nil || len(lines) > 0 {
		t.Errorf("got %q, %v", lines, err)
	}
}

// idemgen takes the whole corpus.
func TestCorpusIsAccepted(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, d := range documents(t) {
		if !d.ofCorpus() {
			continue
		}
		found[filepath.Base(filepath.Dir(d.name))] = true
		for _, p := range d.problems() {
			t.Errorf("%s: %s", d.name, p)
		}
	}
	for _, name := range names(t) {
		if !found[name] {
			t.Errorf("%s has no document", name)
		}
	}
}
