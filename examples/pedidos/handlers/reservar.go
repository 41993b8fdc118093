package handlers

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// Reservar reserves stock. It has a bug: it cannot handle the SKU that
// Quebrado reports, until somebody fixes it.
type Reservar struct {
	Loja     loja.Loja
	Quebrado func(sku string) bool
}

// Handle implements idem.Handler.
func (h Reservar) Handle(ctx context.Context, msg idem.Message[pedidosmsg.PedidoCriado]) error {
	p := msg.Payload
	if err := conferir(ctx, h.Loja, p.PedidoID); err != nil {
		return err
	}
	if err := h.Loja.Reservar(ctx, p.PedidoID, p.SKU); err != nil {
		return err
	}
	if h.Quebrado(p.SKU) {
		prateleiras := make([]string, 3)
		_ = prateleiras[len(p.SKU)] // the bug: a shelf that does not exist
	}
	return nil
}
