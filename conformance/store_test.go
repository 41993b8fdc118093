package conformance_test

import (
	"context"
	"testing"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/framework/store/storetest"
)

// A store is certified from outside with what is exported; what it leaves out
// is skipped by name.
func TestRunStore(t *testing.T) {
	results := conformance.RunStore(t, conformance.StoreHarness{
		Name: "memory",
		Open: func(*testing.T) idem.Store { return memory.New(memory.Config{}) },
		Options: storetest.Options{
			Effect: func(ctx context.Context, tx idem.Tx, id string) error {
				tx.Native().(*memory.Tx).Add(id, 1)
				return nil
			},
			Count: func(_ *testing.T, s idem.Store, id string) int { return int(s.(*memory.Store).Sum(id)) },
		},
	})
	if want := len(conformance.StoreCases()); len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
	skipped := 0
	for _, r := range results {
		if r.Outcome == conformance.Skipped {
			if skipped++; r.Skipped != "Options.BreakCommit" {
				t.Errorf("%s is skipped because of %q", r.ID, r.Skipped)
			}
		}
	}
	if skipped == 0 {
		t.Error("nothing was skipped although the harness cannot break a commit")
	}
}
