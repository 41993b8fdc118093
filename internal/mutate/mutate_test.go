package mutate

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// caught runs f as a test that may fail.
type caught struct {
	testing.TB
	failed string
}

func (c *caught) Helper() {}
func (c *caught) Fatalf(format string, _ ...any) {
	c.failed = format
	panic(c)
}

func TestTextThatIsNotThereFails(t *testing.T) {
	for name, e := range map[string]Edit{
		"missing": {"go.mod", "no such text", "x"},
		"twice":   {"go.mod", "github.com", "x"},
		"no file": {"no/such/file.go", "a", "b"},
	} {
		c := &caught{TB: t}
		func() {
			defer func() { _ = recover() }()
			Overlay(c, e)
		}()
		if c.failed == "" {
			t.Errorf("%s: the overlay was written", name)
		}
	}
}

// The mutations fit the code as it is: each text is there, and what comes of
// them is Go.
func TestEngineOverlayIsGo(t *testing.T) {
	b, err := os.ReadFile(Engine(t))
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Replace) < 2 {
		t.Fatalf("the overlay replaces %d files", len(o.Replace))
	}
	all := ""
	for _, to := range o.Replace {
		if _, err := parser.ParseFile(token.NewFileSet(), to, nil, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	for _, m := range Mutations() {
		if !strings.Contains(all, `"`+m.Name+`"`) {
			t.Errorf("mutation %s can never be woken", m.Name)
		}
		if len(m.Own)+len(m.External) == 0 || m.What == "" {
			t.Errorf("mutation %s does not say what it breaks and who must notice", m.Name)
		}
	}
}
