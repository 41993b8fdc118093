package handlers

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// Faturar invoices an order and asks for its payment, in one transaction.
type Faturar struct {
	Loja   loja.Loja
	Topics pedidosmsg.Topics
}

// Handle implements idem.Handler.
func (h Faturar) Handle(ctx context.Context, msg idem.Message[pedidosmsg.PedidoCriado]) error {
	p := msg.Payload
	if err := conferir(ctx, h.Loja, p.PedidoID); err != nil {
		return err
	}
	if err := h.Loja.Faturar(ctx, p.PedidoID, p.Centavos); err != nil {
		return err
	}
	return idem.Emit(ctx, idem.Event{
		Topic: h.Topics.Faturas, Key: []byte(p.PedidoID),
		Payload: pedidosmsg.FaturaEmitida{PedidoID: p.PedidoID, Centavos: p.Centavos},
	})
}
