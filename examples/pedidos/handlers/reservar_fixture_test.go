package handlers

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idemtest"
)

// reservarFixture tells the gold test how to try Reservar out.
func reservarFixture(t *testing.T, w *idemtest.World) idemtest.Fixture[pedidosmsg.Reservar] {
	l := estoque(t, w)
	return idemtest.Fixture[pedidosmsg.Reservar]{
		Handler: NewReservar(l, Input{}),

		// Sample is the n-th message. Each has another key.
		Sample: func(n int) idemtest.Message {
			return idemtest.Message{
				Payload: fmt.Appendf(nil, `{
					"pedidoId": "p%05d",
					"sku": "livro-go",
					"centavos": 12990
				}`, 1+n),
			}
		},

		// Reuse is m with other content under the same key.
		Reuse: func(m idemtest.Message) idemtest.Message {
			m.Payload = bytes.Replace(m.Payload.([]byte), []byte(`"sku": "livro-go"`), []byte(`"sku": "livro-gox"`), 1)
			return m
		},

		// Effect counts how often the effect of m is in the tables.
		Effect: rows(l, loja.Reservas),
	}
}
