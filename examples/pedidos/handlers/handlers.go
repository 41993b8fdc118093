// Package handlers does the work of the orders service. It does not know which
// broker or database it runs on.
package handlers

import (
	"github.com/google/wire"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/loja/sqlloja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idemsql"
)

// Input is what the program gives to the handlers.
type Input struct {
	// Schema of the business tables in PostgreSQL, "" elsewhere.
	Schema  string
	Gateway Gateway
	// Quebrado reports which SKUs the bug in Reservar is about; nil is none.
	Quebrado func(sku string) bool
}

// Set provides the handlers.
var Set = wire.NewSet(
	NewLoja,
	NewCobrar, wire.Bind(new(pedidosmsg.Cobrar), new(*Cobrar)),
	NewFaturar, wire.Bind(new(pedidosmsg.Faturar), new(*Faturar)),
	NewReservar, wire.Bind(new(pedidosmsg.Reservar), new(*Reservar)),
)

// NewLoja keeps the business tables in a SQL database.
func NewLoja(db idemsql.DB, in Input) loja.Loja { return sqlloja.Loja{DB: db, Schema: in.Schema} }

// All are the handlers on any Loja, for whoever does without Wire.
func All(l loja.Loja, in Input) pedidosmsg.Handlers {
	return pedidosmsg.Handlers{Cobrar: NewCobrar(l, in), Faturar: NewFaturar(l), Reservar: NewReservar(l, in)}
}
