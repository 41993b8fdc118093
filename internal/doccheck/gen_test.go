package doccheck

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/gen"
)

// What a YAML block of a document is an example of.
const (
	idemYAML     = "idem.yaml"
	idemgenYAML  = "idemgen.yaml"
	asyncapiYAML = "asyncapi.yaml"
	xIdempotency = "x-idempotency"
	otherYAML    = "something else" // a workflow, Compose
)

// kindOf tells by a block's first members.
func kindOf(block string) string {
	var members yaml.MapSlice
	if err := yaml.Unmarshal([]byte(block), &members); err != nil {
		return idemYAML // which tells what is wrong with it
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(members, func(m yaml.MapItem) bool {
			name, ok := m.Key.(string)
			return ok && slices.Contains(names, name)
		})
	}
	switch {
	case has("asyncapi"):
		return asyncapiYAML
	case has("x-idempotency"):
		return xIdempotency
	case has("contract", "go"):
		return idemgenYAML
	case has("jobs", "services", "components", "operations", "channels"):
		return otherYAML
	default:
		return idemYAML
	}
}

func TestKindOf(t *testing.T) {
	for block, want := range map[string]string{
		"asyncapi: 3.0.0\ninfo: {}\n":       asyncapiYAML,
		"# why\nversion: 1\ncontract: a\n":  idemgenYAML,
		"version: 1\ngo: ./a\n":             idemgenYAML,
		"x-idempotency:\n  key: $message\n": xIdempotency,
		"jobs:\n  test: {}\n":               otherYAML,
		"transport: sqlite\n":               idemYAML,
		"a: [\n":                            idemYAML,
	} {
		if got := kindOf(block); got != want {
			t.Errorf("kindOf(%q) = %s, want %s", block, got, want)
		}
	}
}

// A contract and an idemgen.yaml in a document are ones that idemgen takes.
func TestContractsOfDocumentsAreRight(t *testing.T) {
	for _, name := range guides(t) {
		for _, block := range blocks(read(t, name), "yaml") {
			files := map[string]string{"go.mod": "module example.com/m\n", idemgenYAML: "version: 1\ncontract: asyncapi.yaml\n"}
			switch kind := kindOf(block); kind {
			case asyncapiYAML, idemgenYAML:
				files[kind] = block
			case xIdempotency:
				validate(t, name, block)
				continue
			default:
				continue
			}
			for _, p := range lint(t, files) {
				// An idemgen.yaml need not have its contract beside it here.
				if files[asyncapiYAML] == "" && filepath.Base(p.Pos.File) != idemgenYAML {
					continue
				}
				if p.Code != "IDEM001" && p.Code != "IDEM161" {
					t.Errorf("%s: %s\n%s", name, p, block)
				}
			}
		}
	}
}

func lint(t *testing.T, files map[string]string) []gen.Problem {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := gen.Lint(gen.Options{Config: filepath.Join(dir, idemgenYAML)})
	if err != nil {
		t.Fatal(err)
	}
	return report.Problems
}

// validate checks an x-idempotency object against its published schema.
func validate(t *testing.T, name, block string) {
	t.Helper()
	text, err := gen.Schema(xIdempotency)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("x.json")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(block), &object); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(object[xIdempotency]); err != nil {
		t.Errorf("%s: %v\n%s", name, err, block)
	}
}

var problemCode = regexp.MustCompile(`\bIDEM[0-9]{3}\b`)

func TestCodesOfDocumentsExist(t *testing.T) {
	for _, name := range guides(t) {
		for _, code := range problemCode.FindAllString(read(t, name), -1) {
			if !slices.ContainsFunc(gen.Codes(), func(c gen.Code) bool { return string(c.Code) == code }) {
				t.Errorf("%s: there is no problem %s", name, code)
			}
		}
	}
}

// guides are the documents and what is in docs.
func guides(t *testing.T) []string {
	t.Helper()
	more, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(documents)
	for _, path := range more {
		all = append(all, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
	}
	return all
}
