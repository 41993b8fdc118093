package conformance_test

import (
	"testing"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/transports/memory"
)

// A transport is certified by one test. The store is the kit's own, in memory.
func Example() {
	// func TestConformance(t *testing.T) {
	test := func(t *testing.T) {
		conformance.Run(t, conformance.Harness{
			Name: "mine",
			New: func(t testing.TB) conformance.Place {
				broker, err := memory.New(memory.Config{}) // yours
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = broker.Close() })
				return conformance.Place{Open: func(testing.TB) conformance.Process {
					return conformance.Process{Transport: broker}
				}}
			},
		})
	}
	_ = test
}
