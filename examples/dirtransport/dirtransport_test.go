package dirtransport_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/idem-go/idem/conformance"

	"example.com/dirtransport"
)

// The kit certifies it, with leases that the test can end.
func TestConformance(t *testing.T) {
	results := conformance.Run(t, conformance.Harness{
		Name: "dir", Backlog: 500,
		New: func(t testing.TB) conformance.Place {
			dir := t.TempDir()
			return conformance.Place{
				Open: func(testing.TB) conformance.Process {
					return conformance.Process{Transport: dirtransport.New(dir)}
				},
				Faults: conformance.Faults{ExpireLeases: func(t testing.TB) {
					claims, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.claim"))
					if err != nil {
						t.Fatal(err)
					}
					for _, claim := range claims {
						if err := os.Chtimes(claim, time.Now(), time.Now()); err != nil && !os.IsNotExist(err) {
							t.Fatal(err)
						}
					}
				}},
			}
		},
	})
	passed := 0
	for _, r := range results {
		if r.Outcome == conformance.Passed {
			passed++
		}
	}
	t.Logf("%d of %d cases passed", passed, len(results))
}
