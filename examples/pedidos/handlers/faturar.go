package handlers

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// Faturar invoices an order and asks for its payment, in one transaction.
type Faturar struct{ loja loja.Loja }

// NewFaturar returns the handler.
func NewFaturar(l loja.Loja) *Faturar { return &Faturar{l} }

var _ pedidosmsg.Faturar = (*Faturar)(nil)

// Handle implements pedidosmsg.Faturar.
func (h *Faturar) Handle(ctx context.Context, msg idem.Message[pedidosmsg.PedidoCriado]) error {
	p := msg.Payload
	if err := conferir(ctx, h.loja, p.PedidoID); err != nil {
		return err
	}
	if err := h.loja.Faturar(ctx, p.PedidoID, p.Centavos); err != nil {
		return err
	}
	return pedidosmsg.EmitEnviarFatura(ctx, pedidosmsg.FaturaEmitida{PedidoID: p.PedidoID, Centavos: p.Centavos})
}
