//go:build !kafka && !kafkasqlite && !postgres && !sqlite

package main

import (
	"context"
	"sync"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/examples/pedidos/loja/memloja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/memory"
)

// memoryBuild returns a builder whose applications share one queue and one
// store, as processes share a broker and a database. It is written by hand: the
// business tables are no SQL database here. Change is what a test puts between
// them and the handlers.
func memoryBuild(change func(demo.Loja) demo.Loja) demo.Build {
	var mu sync.Mutex
	var shared *memory.Parts
	return func(_ context.Context, cfg idem.Config, o wiring.Options, in handlers.Input) (*demo.Assembled, func(), error) {
		mu.Lock()
		defer mu.Unlock()
		closeAll := func() {}
		var parts wiring.Parts
		var err error
		if shared == nil {
			if shared, closeAll, err = memory.Build(cfg, o); err == nil {
				parts = shared.Parts
			}
		} else {
			parts, err = shared.Again(cfg, o)
		}
		if err != nil {
			return nil, nil, err
		}
		var l demo.Loja = memloja.Loja{Tables: shared.Tables}
		if change != nil {
			l = change(l)
		}
		return &demo.Assembled{Parts: parts, Loja: l}, closeAll, pedidosmsg.Register(parts.App, handlers.All(l, in))
	}
}
