//go:build kafka || (!postgres && !sqlite && !memory)

package main

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/loja/pgloja"
	"github.com/idem-go/idem/examples/pedidos/loja/sqlloja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/kafka"
	"github.com/idem-go/idem/wiring/kafkasqlite"
)

// kafkaBuild keeps the store where the configuration says.
func kafkaBuild(ctx context.Context, cfg idem.Config, o wiring.Options, schema string) (*demo.Assembled, func(), error) {
	if cfg.WithDefaults().Store == "sqlite" {
		p, closeAll, err := kafkasqlite.Build(ctx, cfg, o)
		if err != nil {
			return nil, nil, err
		}
		return &demo.Assembled{Parts: p.Parts, Loja: sqlloja.Loja{DB: p.DB}}, closeAll, nil
	}
	p, closeAll, err := kafka.Build(ctx, cfg, o)
	if err != nil {
		return nil, nil, err
	}
	return &demo.Assembled{Parts: p.Parts, Loja: pgloja.Loja{Pool: p.Pool, Schema: schema}}, closeAll, nil
}
