//go:build !kafka && !postgres && !sqlite && !memory

package main

import (
	"context"
	"fmt"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

const tagged = "" // the configuration says which

// builder links every transport and picks one by the configuration. A build
// tag (kafka, postgres, sqlite, memory) links that one alone.
func builder() demo.Build {
	inMemory := memoryBuild()
	return func(ctx context.Context, cfg idem.Config, o wiring.Options, schema string) (*demo.Assembled, func(), error) {
		switch cfg.Transport {
		case "memory":
			return inMemory(ctx, cfg, o, schema)
		case "sqlite":
			return sqliteBuild(ctx, cfg, o, schema)
		case "postgres":
			return postgresBuild(ctx, cfg, o, schema)
		case "kafka":
			return kafkaBuild(ctx, cfg, o, schema)
		default:
			return nil, nil, fmt.Errorf("transport %q is unknown: use sqlite, postgres, kafka or memory", cfg.Transport)
		}
	}
}
