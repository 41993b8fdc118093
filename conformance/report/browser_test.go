package report_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/conformance/report"
	"github.com/idem-go/idem/internal/chromium"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// show opens the page of a report as a file, as whoever downloads it does.
func show(t *testing.T, p *chromium.Page, r report.Report) {
	t.Helper()
	html, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "certificate.html")
	if err := os.WriteFile(path, html, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Do(chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String()), chromedp.WaitVisible("#verdict"))
}

// visible are the texts of the elements that can be seen.
func visible(p *chromium.Page, selector string) []string {
	return chromium.Eval[[]string](p, `[...document.querySelectorAll('`+selector+`')].filter(e => e.checkVisibility()).map(e => e.textContent.trim())`)
}

const cases = `#matrix tbody th`

func TestPageInABrowser(t *testing.T) {
	p := chromium.Open(t)
	show(t, p, sample())

	if got := visible(p, "#verdict"); !slices.Equal(got, []string{"4 problems: this is no certificate"}) {
		t.Errorf("verdict: got %q", got)
	}
	if got := visible(p, "#matrix td a"); !slices.Equal(got, []string{"✓ passed", "✗ failed", "skipped"}) {
		t.Errorf("matrix: got %q", got)
	}

	// A cell leads to what was done, which unfolds.
	if got := visible(p, "#DUP-01-1 li"); len(got) != 0 {
		t.Fatalf("what was done is shown at once: %q", got)
	}
	p.Do(chromedp.Click(`a[href="#DUP-01-1"]`), chromedp.WaitVisible("#DUP-01-1 li"))
	if got := visible(p, "#DUP-01-1 li"); !slices.Equal(got, []string{"published a", "saw one effect"}) {
		t.Errorf("what was done: got %q", got)
	}

	// Everything works from the keyboard: the first stop skips what is in the
	// way, the arrow keys choose which cases are shown.
	show(t, p, sample())
	p.Do(chromedp.KeyEvent("\t"))
	if got := chromium.Eval[string](p, `document.activeElement.textContent`); got != "Skip to the content" {
		t.Errorf("the first stop of the tab key is %q", got)
	}
	p.Do(chromedp.Focus("#only-all"))
	for key, want := range map[string]string{"failed": "DUP-02", "skipped": "DUP-03"} {
		p.Do(chromedp.Focus("#only-"+key), chromedp.KeyEvent(" "))
		if got := visible(p, cases); !slices.Equal(got, []string{want}) {
			t.Errorf("of the %s cases these are shown: %q", key, got)
		}
		if got := visible(p, "#details summary"); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("of the %s cases the details of these are shown: %q", key, got)
		}
	}
	p.Do(chromedp.Focus("#DUP-03 > summary"), chromedp.KeyEvent("\r"), chromedp.WaitVisible("#DUP-03-1"))

	for _, scheme := range []string{"light", "dark"} {
		p.Prefer(scheme)
		if got := p.Faint(); len(got) != 0 {
			t.Errorf("hard to read in the %s scheme: %q", scheme, got)
		}
		ground := chromium.Eval[string](p, `getComputedStyle(document.body).backgroundColor`)
		if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]; ground != want {
			t.Errorf("the %s ground is %s, want %s", scheme, ground, want)
		}
	}

	// On a telephone tables scroll, the page does not.
	p.Do(chromedp.EmulateViewport(360, 640))
	if got := chromium.Eval[int](p, `document.documentElement.scrollWidth`); got > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", got)
	}
	alone(t, p)
}

func TestTextStaysTextInABrowser(t *testing.T) {
	p := chromium.Open(t)
	for _, s := range hostile {
		show(t, p, with(s))
		if n := chromium.Eval[int](p, `document.querySelectorAll('script, img, b, [onmouseover], [onerror], a:not([href^="#"])').length`); n != 0 {
			t.Errorf("%q makes %d elements", s, n)
		}
	}
	alone(t, p)
}

// alone checks that the page has loaded nothing but itself, and run into nothing.
func alone(t *testing.T, p *chromium.Page) {
	t.Helper()
	if got := p.Complaints(); len(got) != 0 {
		t.Errorf("the browser complains: %q", got)
	}
	for _, u := range p.Requests() {
		if !strings.HasSuffix(u, "/certificate.html") && u != "data:," && u != "about:blank" {
			t.Errorf("the page asks for %s", u)
		}
	}
}
