package depcheck

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A table row of CONTRIBUTING.md that begins with a module path in backticks.
var moduleRow = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+(?:\\.[a-z0-9-]+)+/[^` ]+)` \\|")

// Each direct dependency has a row that tells why it is there, and each row a dependency.
func TestDirectDependenciesHaveAReason(t *testing.T) {
	if _, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil { // so that go test notices a change
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var direct, explained []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range moduleRow.FindAllStringSubmatch(string(text), -1) {
		explained = append(explained, row[1])
	}
	if len(direct) == 0 || len(explained) == 0 {
		t.Fatalf("found %d direct dependencies and %d rows: the test looks at the wrong thing", len(direct), len(explained))
	}
	for _, path := range direct {
		if !slices.Contains(explained, path) {
			t.Errorf("%s is a direct dependency without a row in CONTRIBUTING.md: say why it is needed, or do without", path)
		}
	}
	for _, path := range explained {
		if !slices.Contains(direct, path) {
			t.Errorf("CONTRIBUTING.md explains %s, which is no direct dependency: remove the row", path)
		}
	}
}
