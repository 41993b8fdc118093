package docs

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/tree"
)

var update = flag.Bool("update", false, "write the golden files")

func html(t testing.TB, c *model.Contract) []byte {
	t.Helper()
	b, err := HTML(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, got := range map[string][]byte{"orders.md": Markdown(orders()), "orders.html": html(t, orders())} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs (go test ./gen/internal/docs -update):\n%s", name, diff)
		}
		if !tree.Owned(got) {
			t.Errorf("%s does not carry the header that lets idemgen overwrite it", name)
		}
	}
}

func TestSameBytesEachTime(t *testing.T) {
	t.Parallel()
	for range 20 {
		if !bytes.Equal(Markdown(orders()), Markdown(orders())) || !bytes.Equal(html(t, orders()), html(t, orders())) {
			t.Fatal("the same contract gave other bytes")
		}
	}
	if !bytes.Equal(html(t, large(40)), html(t, large(40))) {
		t.Fatal("the same contract gave another drawing")
	}
}

// What the contract leaves out is documented as what the library does.
func TestDefaultsAreTheLibrarys(t *testing.T) {
	t.Parallel()
	p := idem.Policy{}.WithDefaults()
	got := []any{defaultAttempts, defaultBase, defaultMax, defaultTimeout}
	want := []any{p.MaxAttempts, p.Backoff.Base, p.Backoff.Max, p.Timeout}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, the library has %v", got, want)
	}
	source, err := os.ReadFile("../../../framework/idem/operation.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"o.Retention = 192 * time.Hour", `o.DeadLetterTopic = o.Topic + ".dlq"`, "o.Concurrency = 8"} {
		if !strings.Contains(string(source), line) {
			t.Errorf("framework/idem no longer has %q: adapt the documentation's defaults", line)
		}
	}
	if defaultRetention != 192*time.Hour || deadLetterSuffix != ".dlq" || defaultConcurrency != 8 {
		t.Error("the documentation's defaults are not the library's")
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "1d", 192 * time.Hour: "8d", 36 * time.Hour: "36h", 90 * time.Minute: "1h30m",
		90 * time.Second: "1m30s", 200 * time.Millisecond: "200ms", time.Hour: "1h", 10 * time.Minute: "10m", 0: "0s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d ns: got %s, want %s", d, got, want)
		}
	}
}

// Every link leads somewhere, and no two places have the same name.
func TestLinks(t *testing.T) {
	t.Parallel()
	c := orders()
	c.Operations[0].ID = "charge "
	c.Operations[1].ID = "charge_20_" // would be the same anchor, were it not for the escape
	for name, text := range map[string]string{"html": string(html(t, c)), "markdown": string(Markdown(c))} {
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(`\bid="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			if ids[m[1]] {
				t.Errorf("%s: id %q is there twice", name, m[1])
			}
			ids[m[1]] = true
		}
		links := regexp.MustCompile(`(?:href="|url\(|\]\()#([^")]*)`).FindAllStringSubmatch(text, -1)
		if len(links) < 10 {
			t.Fatalf("%s: found %d links only", name, len(links))
		}
		for _, m := range links {
			if !ids[m[1]] {
				t.Errorf("%s: link to %q leads nowhere", name, m[1])
			}
		}
	}
}

// The page stands alone: it loads nothing, and no browser runs anything.
func TestPageStandsAlone(t *testing.T) {
	t.Parallel()
	text := string(html(t, orders()))
	for _, pattern := range []string{`<script`, `\bsrc=`, `@import`, `url\([^#]`, `<iframe`, ` on\w+=`} {
		if found := regexp.MustCompile(pattern).FindString(text); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "#") && m[1] != "data:," {
			t.Errorf("the page links to %q", m[1])
		}
	}
}

func TestContractWithoutOperations(t *testing.T) {
	t.Parallel()
	c := &model.Contract{Source: "asyncapi.yaml"}
	if got := string(Markdown(c)); got != header+"\n\n# asyncapi.yaml\n" {
		t.Errorf("got %q", got)
	}
	if text := string(html(t, c)); strings.Contains(text, "<section") {
		t.Errorf("the page has a section about nothing:\n%s", text)
	}
}
