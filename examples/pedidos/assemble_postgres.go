//go:build postgres || (!kafka && !sqlite && !memory)

package main

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/loja/pgloja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/postgres"
)

func postgresBuild(ctx context.Context, cfg idem.Config, o wiring.Options, schema string) (*demo.Assembled, func(), error) {
	p, closeAll, err := postgres.Build(ctx, cfg, o)
	if err != nil {
		return nil, nil, err
	}
	return &demo.Assembled{Parts: p.Parts, Loja: pgloja.Loja{Pool: p.Pool, Schema: schema}}, closeAll, nil
}
