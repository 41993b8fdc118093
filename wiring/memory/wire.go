//go:build wireinject

package memory

import (
	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// Build assembles an application. Nothing outlives the process. Call the
// clean-up after Run has returned.
func Build(cfg idem.Config, o wiring.Options) (*Parts, func(), error) {
	panic(wire.Build(Set))
}
