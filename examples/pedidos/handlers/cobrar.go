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
	Cobrar(ctx context.Context, chave, pedidoID string, centavos int64) (Recibo, error)
	// Consultar finds a charge made under the key.
	Consultar(ctx context.Context, chave string) (r Recibo, found bool, err error)
}

// Recibo is the provider's receipt.
type Recibo struct {
	Numero string `json:"numero"`
}

// Cobrar charges an invoice: outside the database, so in two steps.
type Cobrar struct {
	Loja    loja.Loja
	Gateway Gateway
}

// Call implements idem.External.
func (h Cobrar) Call(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida]) (Recibo, error) {
	r, err := h.Gateway.Cobrar(ctx, msg.Key, msg.Payload.PedidoID, msg.Payload.Centavos)
	if err != nil {
		return r, fmt.Errorf("charge: %w", err)
	}
	return r, nil
}

// Apply implements idem.External.
func (h Cobrar) Apply(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida], r Recibo) error {
	return h.Loja.Pagar(ctx, msg.Payload.PedidoID, msg.Payload.Centavos, r.Numero)
}

// Reconcile implements idem.Reconciler: it asks the provider what became of a
// charge whose answer was lost.
func (h Cobrar) Reconcile(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida]) (Recibo, idem.CallOutcome, error) {
	switch r, found, err := h.Gateway.Consultar(ctx, msg.Key); {
	case err != nil:
		return r, idem.CallUnknown, fmt.Errorf("look up a charge: %w", err)
	case found:
		return r, idem.CallApplied, nil
	default:
		return r, idem.CallNotApplied, nil
	}
}
