//go:build sqlite || (!kafka && !postgres && !memory)

package main

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/loja/sqlloja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/sqlite"
)

func sqliteBuild(ctx context.Context, cfg idem.Config, o wiring.Options, _ string) (*demo.Assembled, func(), error) {
	p, closeAll, err := sqlite.Build(ctx, cfg, o)
	if err != nil {
		return nil, nil, err
	}
	return &demo.Assembled{Parts: p.Parts, Loja: sqlloja.Loja{DB: p.DB}}, closeAll, nil
}
