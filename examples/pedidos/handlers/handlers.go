// Package handlers is what a team writes by hand: the work of each operation,
// against the business interface and nothing else. It does not know which
// broker or database it runs on.
package handlers

import (
	"context"
	"errors"
	"fmt"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// ErrPedidoDesconhecido: the order does not exist. Nothing will change that, so
// the message is discarded, with audit.
var ErrPedidoDesconhecido = idem.Ignore(errors.New("pedido does not exist"))

// Faturar invoices an order and asks for its payment, in one transaction.
type Faturar struct {
	Loja   loja.Loja
	Topics pedidosmsg.Topics
}

// Handle implements idem.Handler.
func (h Faturar) Handle(ctx context.Context, msg idem.Message[pedidosmsg.PedidoCriado]) error {
	p := msg.Payload
	switch known, err := h.Loja.Existe(ctx, p.PedidoID); {
	case err != nil:
		return err
	case !known:
		return ErrPedidoDesconhecido
	}
	if err := h.Loja.Faturar(ctx, p.PedidoID, p.Centavos); err != nil {
		return err
	}
	return idem.Emit(ctx, idem.Event{
		Topic: h.Topics.Faturas, Key: []byte(p.PedidoID),
		Payload: pedidosmsg.FaturaEmitida{PedidoID: p.PedidoID, Centavos: p.Centavos},
	})
}

// Reservar reserves stock. It has a bug: it cannot handle the SKU that
// Quebrado reports, until somebody fixes it.
type Reservar struct {
	Loja     loja.Loja
	Quebrado func(sku string) bool
}

// Handle implements idem.Handler.
func (h Reservar) Handle(ctx context.Context, msg idem.Message[pedidosmsg.PedidoCriado]) error {
	p := msg.Payload
	switch known, err := h.Loja.Existe(ctx, p.PedidoID); {
	case err != nil:
		return err
	case !known:
		return ErrPedidoDesconhecido
	}
	if err := h.Loja.Reservar(ctx, p.PedidoID, p.SKU); err != nil {
		return err
	}
	if h.Quebrado(p.SKU) {
		var shelves []string
		_ = shelves[len(p.SKU)] // the bug: an index that does not exist
	}
	return nil
}

// Gateway charges cards. The key makes a repeated charge harmless there, too.
type Gateway interface {
	Charge(ctx context.Context, key string, centavos int64) (Recibo, error)
	// Lookup finds a charge made under the key.
	Lookup(ctx context.Context, key string) (r Recibo, found bool, err error)
}

// Recibo is the gateway's receipt.
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
	r, err := h.Gateway.Charge(ctx, msg.Key, msg.Payload.Centavos)
	if err != nil {
		return r, fmt.Errorf("charge: %w", err)
	}
	return r, nil
}

// Apply implements idem.External.
func (h Cobrar) Apply(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida], r Recibo) error {
	return h.Loja.Pagar(ctx, msg.Payload.PedidoID, msg.Payload.Centavos, r.Numero)
}

// Reconcile implements idem.Reconciler.
func (h Cobrar) Reconcile(ctx context.Context, msg idem.Message[pedidosmsg.FaturaEmitida]) (Recibo, idem.CallOutcome, error) {
	switch r, found, err := h.Gateway.Lookup(ctx, msg.Key); {
	case err != nil:
		return r, idem.OutcomeUnknown, fmt.Errorf("look up a charge: %w", err)
	case found:
		return r, idem.OutcomeApplied, nil
	default:
		return r, idem.OutcomeNotApplied, nil
	}
}
