package handlers

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// Reservar reserves stock. It has a bug: it cannot handle the SKUs that
// [Input].Quebrado reports, until somebody fixes it.
type Reservar struct {
	loja     loja.Loja
	quebrado func(sku string) bool
}

// NewReservar returns the handler.
func NewReservar(l loja.Loja, in Input) *Reservar { return &Reservar{l, in.Quebrado} }

var _ pedidosmsg.Reservar = (*Reservar)(nil)

// Handle implements pedidosmsg.Reservar.
func (h *Reservar) Handle(ctx context.Context, msg idem.Message[pedidosmsg.PedidoCriado]) error {
	p := msg.Payload
	if err := conferir(ctx, h.loja, p.PedidoID); err != nil {
		return err
	}
	if err := h.loja.Reservar(ctx, p.PedidoID, p.SKU); err != nil {
		return err
	}
	if h.quebrado != nil && h.quebrado(p.SKU) {
		prateleiras := make([]string, 3)
		_ = prateleiras[len(p.SKU)] // the bug: a shelf that does not exist
	}
	return nil
}
