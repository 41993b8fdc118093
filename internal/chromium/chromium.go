// Package chromium gives tests a page in a real, headless browser. Only tests may import it.
package chromium

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/idem-go/idem/internal/testenv"
)

// patience is how long a test may use its browser.
const patience = 90 * time.Second

// Page is a page of a browser of its own.
type Page struct {
	// Context is for chromedp's actions.
	Context context.Context

	t          testing.TB
	mu         sync.Mutex
	complaints []string
	requests   []string
}

// Open starts a browser with one empty page and ends it with the test. Without a browser the test
// skips or fails, see [testenv.Chromium]. The browser asks nobody for anything by itself.
func Open(t testing.TB) *Page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testenv.Chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 900), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium insists on for root
	}
	// A deadline on the context that starts the browser would count for the first action only.
	base, stop := context.WithCancel(context.Background())
	alloc, end := chromedp.NewExecAllocator(base, options...)
	ctx, closePage := chromedp.NewContext(alloc)
	late := time.AfterFunc(patience, stop)
	t.Cleanup(func() {
		late.Stop()
		_ = chromedp.Cancel(ctx) // waits for the browser to end
		closePage()
		end()
		stop()
	})
	p := &Page{Context: ctx, t: t}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatalf("starting %s: %v", testenv.Chromium(t), err)
	}
	return p
}

// hear is told of everything that happens on the page.
func (p *Page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *log.EventEntryAdded:
		p.complaints = append(p.complaints, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			p.complaints = append(p.complaints, fmt.Sprintf("console: %s", e.Type))
		}
	case *page.EventJavascriptDialogOpening:
		p.complaints = append(p.complaints, "dialog: "+e.Message)
		go func() { // the page stands still until it is answered; fails only if the page is gone
			_, _ = chromedp.Call(p.Context, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	}
}

// Complaints are what the browser did not like so far: entries of its log, errors on the console,
// exceptions, dialogs that opened.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complaints)
}

// Requests are the URLs asked for so far, that of the page among them.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Do runs actions one after the other.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.Context, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Prefer makes the page believe that its reader prefers "light" or "dark".
func (p *Page) Prefer(scheme string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		p.t.Fatal(err)
	}
}

// Eval is the value of a JavaScript expression on the page.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}
