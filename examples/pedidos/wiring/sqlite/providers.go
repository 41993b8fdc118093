// Package sqlite assembles the application on one SQLite file.
package sqlite

import (
	"github.com/google/wire"

	"github.com/idem-go/idem/examples/pedidos/handlers"
)

// Providers are the handlers and what they need on this transport: add what only
// its database can give, such as a repository on its connection pool.
var Providers = wire.NewSet(handlers.Set)
