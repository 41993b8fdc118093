package main

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/examples/pedidos/loja/sqlloja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// build assembles an application on what the configuration asks for.
func build() demo.Build {
	inMemory := memoryBuild(nil)
	return func(ctx context.Context, cfg idem.Config, o wiring.Options, in handlers.Input) (*demo.Assembled, func(), error) {
		if cfg.Transport == "memory" {
			return inMemory(ctx, cfg, o, in)
		}
		parts, db, closeAll, err := open(ctx, cfg, o, in)
		if err != nil {
			return nil, nil, err
		}
		return &demo.Assembled{Parts: parts, Loja: sqlloja.Loja{DB: db, Schema: in.Schema}}, closeAll, nil
	}
}
