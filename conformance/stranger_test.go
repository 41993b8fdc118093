package conformance_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A transport in a module of its own is certified from outside, as a stranger
// would do it.
func TestStrangersTransport(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another module")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-timeout", "5m", "./...")
	cmd.Dir = "../examples/dirtransport"
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The workflow to copy is one, and calls what there is.
func TestWorkflowToCopy(t *testing.T) {
	text, err := os.ReadFile("../docs/ci/conformance.yml")
	if err != nil {
		t.Fatal(err)
	}
	var flow struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string            `yaml:"run"`
				Env map[string]string `yaml:"env"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(text, &flow); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range flow.Jobs["conformance"].Steps {
		_, reports := s.Env["IDEM_CONFORMANCE_REPORT"]
		found = found || strings.Contains(s.Run, "-run TestConformance") && reports
	}
	if !found {
		t.Error("no step runs TestConformance and keeps its report")
	}
}
