// Package loja is the business side of the orders service: what handlers write,
// whatever database it is in. The tables have no unique constraint on purpose:
// that an effect happens once is idem's work, and the ledger of the demo counts
// the rows.
package loja

import "context"

// Loja are the business writes, made in the unit of work of ctx.
type Loja interface {
	// Existe reports whether the order is known.
	Existe(ctx context.Context, pedidoID string) (bool, error)
	Faturar(ctx context.Context, pedidoID string, centavos int64) error
	Reservar(ctx context.Context, pedidoID, sku string) error
	// Pagar records a payment and the gateway's receipt.
	Pagar(ctx context.Context, pedidoID string, centavos int64, recibo string) error
}

// Admin is what the demo needs beside the handlers: tables, orders, and the
// rows to count.
type Admin interface {
	Criar(ctx context.Context) error
	Cadastrar(ctx context.Context, pedidoIDs ...string) error
	Efeitos(ctx context.Context) ([]Efeito, error)
	Remover(ctx context.Context) error
}

// Efeito is one row of a business table.
type Efeito struct {
	Tabela   string
	PedidoID string
	Centavos int64
}

// Tables and their names, in the order of a pedido's life.
const (
	Faturas    = "faturas"
	Reservas   = "reservas"
	Pagamentos = "pagamentos"
)
