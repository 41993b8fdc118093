package gosrc_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/gosrc"
)

const manual = "../../../docs/go-input.md"

func TestExampleOfTheManualIsAContract(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```go\n")
	code, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the manual has no Go code")
	}
	c := load(t, fstest.MapFS{"p/a.go": {Data: []byte(code)}}, "p", gosrc.Options{})
	if len(c.Operations) != 1 || len(c.Sends) != 1 || c.Operations[0].Retry.MaxAttempts != 5 || len(c.Operations[0].Emits) != 1 {
		t.Errorf("the example is another contract than it looks: %s", dump(c))
	}
}

func TestManualNamesEveryWord(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	words := append(append([]string{}, gosrc.OperationParams...), gosrc.RuleNames...)
	for kind, params := range gosrc.Kinds {
		words = append(append(words, "//idem:"+kind), params...)
	}
	for _, w := range words {
		if w == "each" {
			w = "each."
		}
		if !strings.Contains(string(text), "`"+w+"`") && !strings.Contains(string(text), "`"+w+"=") {
			t.Errorf("docs/go-input.md does not explain %s", w)
		}
	}
}
