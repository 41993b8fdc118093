package handlers

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idemtest"
)

// cobrarFixture tells the gold test how to try Cobrar out.
func cobrarFixture(t *testing.T, w *idemtest.World) idemtest.Fixture[pedidosmsg.Cobrar] {
	g := &gateway{receipts: map[string]string{}}
	return idemtest.Fixture[pedidosmsg.Cobrar]{
		Handler: NewCobrar(estoque(t, w), Input{Gateway: g}),

		// Sample is the n-th message. Each has another key.
		Sample: func(n int) idemtest.Message {
			return idemtest.Message{
				Payload: fmt.Appendf(nil, `{
					"pedidoId": "p%05d",
					"centavos": 12990
				}`, 1+n),
			}
		},

		// Reuse is m with other content under the same key.
		Reuse: func(m idemtest.Message) idemtest.Message {
			m.Payload = bytes.Replace(m.Payload.([]byte), []byte(`"centavos": 12990`), []byte(`"centavos": 12991`), 1)
			return m
		},

		// Effect counts the charges at the gateway, which takes the money each
		// time it is asked.
		Effect: func(_ context.Context, m idemtest.Message) (int, error) {
			return g.charged(pedidoID(m)), nil
		},
	}
}

// gateway is a payment provider that answers at once.
type gateway struct {
	mu       sync.Mutex
	charges  []string          // pedidos, in the order charged
	receipts map[string]string // by key
}

func (g *gateway) Cobrar(_ context.Context, chave, pedidoID string, _ int64) (pedidosmsg.CobrarResult, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.charges = append(g.charges, pedidoID)
	g.receipts[chave] = "r-" + chave
	return pedidosmsg.CobrarResult{Numero: g.receipts[chave]}, nil
}

func (g *gateway) Consultar(_ context.Context, chave string) (pedidosmsg.CobrarResult, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	numero, found := g.receipts[chave]
	return pedidosmsg.CobrarResult{Numero: numero}, found, nil
}

func (g *gateway) charged(pedidoID string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.charges {
		if id == pedidoID {
			n++
		}
	}
	return n
}
