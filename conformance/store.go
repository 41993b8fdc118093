package conformance

import (
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/storetest"
)

// StoreHarness is how the kit gets at the store under test.
type StoreHarness struct {
	// Name of the store, for the report. Required.
	Name string
	// Open returns a store on an empty database whose Claim waits at most about
	// two seconds, and registers its clean-up. It is called by many cases at once.
	// Required.
	Open func(t *testing.T) idem.Store
	// Options are what the interface cannot express; Effect and Count are
	// required. A case that cannot do without another one is skipped.
	storetest.Options
}

// StoreCases returns the cases that [RunStore] runs. Their ids stay; their own
// Run is nil, for they need a store instead of a world.
func StoreCases() []Case {
	var all []Case
	for _, c := range storetest.Cases() {
		all = append(all, Case{ID: storeID(c), Intent: words(c.Name)})
	}
	return all
}

func storeID(c storetest.Case) string { return "STORE-" + c.Group + "-" + c.Name }

// words turns "LosersWaitForTheWinner" into "losers wait for the winner".
func words(name string) string {
	var b strings.Builder
	upper := true // the letter before is a capital
	for _, r := range name {
		if unicode.IsUpper(r) && !upper {
			b.WriteByte(' ')
		}
		upper = unicode.IsUpper(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// RunStore is [Run] for a store: it runs the cases of [StoreCases], in parallel.
// It returns when all have ended.
func RunStore(t *testing.T, h StoreHarness) []Result {
	t.Helper()
	if h.Name == "" || h.Open == nil || h.Effect == nil || h.Count == nil {
		t.Fatal("conformance: StoreHarness needs Name, Open, Effect and Count")
	}
	begun := time.Now()
	var mu sync.Mutex
	var results []Result
	t.Run("store", func(t *testing.T) {
		for _, c := range storetest.Cases() {
			t.Run(storeID(c), func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				t.Cleanup(func() {
					r := Result{ID: storeID(c), Intent: words(c.Name), Outcome: Passed, Seconds: time.Since(began).Seconds()}
					switch {
					case t.Failed():
						r.Outcome = Failed
					case t.Skipped():
						r.Outcome, r.Skipped = Skipped, h.lacks()
					}
					mu.Lock()
					defer mu.Unlock()
					results = append(results, r)
				})
				c.Run(t, h.Open, h.Options)
			})
		}
	})
	Harness{Name: h.Name}.report(t, idem.Capabilities{}, begun, results)
	return results
}

// lacks is what a skipped case did without.
func (h StoreHarness) lacks() Need {
	if h.SingleWriter {
		return "not Options.SingleWriter"
	}
	return "Options.BreakCommit"
}
