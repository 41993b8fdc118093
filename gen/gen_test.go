package gen

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/gen/internal/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The published schema of idemgen.yaml has the settings that are read, with
// the transports that there are.
func TestSchemaHasTheSettings(t *testing.T) {
	text, err := Schema("idemgen")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	names := settings.Names()
	slices.Sort(names)
	if d := cmp.Diff(names, slices.Sorted(maps.Keys(schema.Properties))); d != "" {
		t.Errorf("settings and schema differ: %s", d)
	}
	var transports struct {
		Items struct {
			Enum []string `json:"enum"`
		} `json:"items"`
	}
	if err := json.Unmarshal(schema.Properties["transports"], &transports); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sorted(settings.Transports()), sorted(transports.Items.Enum)); d != "" {
		t.Errorf("transports and schema differ: %s", d)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// A file name is made of any title.
func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Pedidos": "pedidos", "Loja & Cia. 2": "loja-cia-2", "../../x": "x", "": "contract", "日本": "contract", "Cobrança": "cobranca",
	} {
		if got := slug(title); got != want {
			t.Errorf("slug(%q) = %q, want %q", title, got, want)
		}
	}
}
