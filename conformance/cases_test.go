package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/conformance"
)

var update = flag.Bool("update", false, "write the table of cases into docs/conformance.md")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ids are for ever, so none is there twice and families are counted through.
func TestCasesHaveStableIDs(t *testing.T) {
	id := regexp.MustCompile(`^([A-Z]+)-(\d\d)$`)
	count := map[string]int{}
	for _, c := range conformance.Cases() {
		m := id.FindStringSubmatch(c.ID)
		if m == nil {
			t.Errorf("case %q: want an id like DUP-01", c.ID)
			continue
		}
		if count[m[1]]++; m[2] != fmt.Sprintf("%02d", count[m[1]]) {
			t.Errorf("case %s is number %d of its family", c.ID, count[m[1]])
		}
		if c.Intent == "" || strings.ContainsAny(c.Intent, "\n|") || c.Run == nil {
			t.Errorf("case %s: want an intent of one line, and a Run", c.ID)
		}
	}
	for _, family := range []string{"DUP", "RACE", "DLQ", "RETRY", "ORDER", "FLOW", "DRAIN", "FIDELITY", "LEASE", "FOREIGN"} {
		if count[family] == 0 {
			t.Errorf("no case of family %s", family)
		}
	}
	seen := map[string]bool{}
	for _, c := range conformance.StoreCases() {
		if seen[c.ID] || !strings.HasPrefix(c.ID, "STORE-") || c.Intent == "" {
			t.Errorf("store case %q is there twice, or has no intent", c.ID)
		}
		seen[c.ID] = true
	}
}

const (
	page  = "../docs/conformance.md"
	begin = "<!-- cases: written by go test ./conformance -update -->\n"
	end   = "<!-- end of cases -->\n"
)

// The page lists the cases that there are.
func TestPageListsTheCases(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), begin)
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	want := head + begin + table() + end + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s does not list the cases that there are: run go test ./conformance -run TestPageListsTheCases -update", page)
	}
}

func table() string {
	var b strings.Builder
	cases := conformance.Cases()
	fmt.Fprintf(&b, "\n%d cases for transports:\n\n| case | what must hold | needs |\n|---|---|---|\n", len(cases))
	for _, c := range cases {
		var needs []string
		for _, n := range c.Needs {
			needs = append(needs, "`"+string(n)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.ID, c.Intent, strings.Join(needs, ", "))
	}
	stores := conformance.StoreCases()
	fmt.Fprintf(&b, "\n%d cases for stores:\n\n| case | what must hold |\n|---|---|\n", len(stores))
	for _, c := range stores {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.ID, c.Intent)
	}
	b.WriteString("\n")
	return b.String()
}
