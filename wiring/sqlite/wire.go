//go:build wireinject

package sqlite

import (
	"context"

	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// Build assembles an application on one SQLite file. Call the clean-up after
// Run has returned.
func Build(ctx context.Context, cfg idem.Config, o wiring.Options) (*Parts, func(), error) {
	panic(wire.Build(Set))
}
