package chromium

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What tests rely on is noticed: requests, complaints, dialogs, faint text.
func TestPageTellsWhatHappens(t *testing.T) {
	p := Open(t)
	p.Prefer("dark")
	p.Do(chromedp.Navigate("data:text/html," + url.PathEscape(`<!doctype html><html style="color-scheme:light dark"><body style="background:#fff;color:#000">
		<p style="color:#bbb">too faint</p><p>clear</p><p style="display:none;color:#bbb">hidden</p>
		<p id=scheme></p><img src="http://127.0.0.1:1/x.png">
		<script>scheme.textContent = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'; alert('hello'); console.error('x'); throw new Error('y')</script>`)))
	complaints := strings.Join(p.Complaints(), "\n")
	for _, want := range []string{"dialog: hello", "console: error", "exception: "} {
		if !strings.Contains(complaints, want) {
			t.Errorf("no %q among the complaints:\n%s", want, complaints)
		}
	}
	if got := p.Requests(); !slices.Contains(got, "http://127.0.0.1:1/x.png") {
		t.Errorf("the request of the image was not seen: %q", got)
	}
	if got := p.Faint(); !slices.Equal(got, []string{"too faint: 1.92"}) {
		t.Errorf("faint: got %q", got)
	}
	if got := Eval[string](p, `scheme.textContent`); got != "dark" {
		t.Errorf("the page took the scheme for %q", got)
	}
}
