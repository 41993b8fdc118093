package handlers

import (
	"context"
	"fmt"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// Gateway is the payment provider.
type Gateway interface {
	// Cobrar charges an order. The provider files the charge under the key.
	Cobrar(ctx context.Context, chave, pedidoID string, centavos int64) (pedidosmsg.CobrarResult, error)
	// Consultar finds a charge made under the key.
	Consultar(ctx context.Context, chave string) (r pedidosmsg.CobrarResult, found bool, err error)
}

// Cobrar charges an invoice: outside the database, so in two steps.
type Cobrar struct {
	loja    loja.Loja
	gateway Gateway
}

// NewCobrar returns the handler.
func NewCobrar(l loja.Loja, in Input) *Cobrar { return &Cobrar{l, in.Gateway} }

var _ pedidosmsg.Cobrar = (*Cobrar)(nil)

// Call implements pedidosmsg.Cobrar.
func (h *Cobrar) Call(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida]) (pedidosmsg.CobrarResult, error) {
	r, err := h.gateway.Cobrar(ctx, msg.Key, msg.Payload.PedidoID, msg.Payload.Centavos)
	if err != nil {
		return r, fmt.Errorf("charge: %w", err)
	}
	return r, nil
}

// Apply implements pedidosmsg.Cobrar.
func (h *Cobrar) Apply(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida], r pedidosmsg.CobrarResult) error {
	return h.loja.Pagar(ctx, msg.Payload.PedidoID, msg.Payload.Centavos, r.Numero)
}

// Reconcile implements idem.Reconciler: it asks the provider what became of a
// charge whose answer was lost.
func (h *Cobrar) Reconcile(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida]) (pedidosmsg.CobrarResult, idem.CallOutcome, error) {
	switch r, found, err := h.gateway.Consultar(ctx, msg.Key); {
	case err != nil:
		return r, idem.CallUnknown, fmt.Errorf("look up a charge: %w", err)
	case found:
		return r, idem.CallApplied, nil
	default:
		return r, idem.CallNotApplied, nil
	}
}
