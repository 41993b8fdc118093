//go:build kafka || kafkasqlite || postgres || sqlite

package main

import (
	"context"
	"errors"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// memoryBuild stands in for the one that a program built for one transport does
// not link.
func memoryBuild(func(demo.Loja) demo.Loja) demo.Build {
	return func(context.Context, idem.Config, wiring.Options, handlers.Input) (*demo.Assembled, func(), error) {
		return nil, nil, errors.New("transport memory is not linked: build without tags")
	}
}
