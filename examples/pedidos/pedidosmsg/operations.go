package pedidosmsg

import (
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Gateway is the dependency that guards the payment gateway.
const Gateway = "gateway"

// Topics names the topics; the demo gives each run its own.
type Topics struct{ Pedidos, Faturas string }

// policy is that of all operations: quick, since somebody is watching.
var policy = idem.Policy{
	MaxAttempts: 3,
	Timeout:     2 * time.Second,
	Backoff:     idem.Backoff{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond},
}

// Faturar invoices an order: one invoice for each pedidoId.
func Faturar(t Topics) idem.Operation {
	return idem.Operation{
		Name: "faturar", Topic: t.Pedidos, Key: idem.KeyFrom(idem.FromPayload("/pedidoId")),
		Policy: policy, Emits: []string{t.Faturas}, LogFields: map[string]string{"pedido_id": "/pedidoId"},
	}
}

// Reservar reserves the stock of an order.
func Reservar(t Topics) idem.Operation {
	return idem.Operation{
		Name: "reservar", Topic: t.Pedidos, Key: idem.KeyFrom(idem.FromPayload("/pedidoId")),
		Policy: policy, LogFields: map[string]string{"pedido_id": "/pedidoId"},
	}
}

// Cobrar charges an invoice at the payment gateway.
func Cobrar(t Topics) idem.Operation {
	return idem.Operation{
		Name: "cobrar", Topic: t.Faturas, Key: idem.KeyFrom(idem.FromPayload("/pedidoId")),
		Policy: policy, Dependency: Gateway, LogFields: map[string]string{"pedido_id": "/pedidoId"},
	}
}
