//go:build memory || (!kafka && !postgres && !sqlite)

package main

import (
	"context"
	"sync"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/loja/memloja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/memory"
)

// memoryBuild returns a builder whose applications share one queue and one
// store, as processes share a broker and a database.
func memoryBuild() demo.Build {
	var mu sync.Mutex
	var shared *memory.Parts
	return func(_ context.Context, cfg idem.Config, o wiring.Options, _ string) (*demo.Assembled, func(), error) {
		mu.Lock()
		defer mu.Unlock()
		if shared == nil {
			p, closeAll, err := memory.Build(cfg, o)
			if err != nil {
				return nil, nil, err
			}
			shared = p
			return &demo.Assembled{Parts: p.Parts, Loja: memloja.Loja{Tables: p.Tables}}, closeAll, nil
		}
		p, err := shared.Again(cfg, o)
		return &demo.Assembled{Parts: p, Loja: memloja.Loja{Tables: shared.Tables}}, func() {}, err
	}
}
