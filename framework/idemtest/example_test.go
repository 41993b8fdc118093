package idemtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/idemtest"
)

// OrderPlaced is the message.
type OrderPlaced struct {
	OrderID string `json:"orderId"`
	Cents   int64  `json:"cents"`
}

// Invoice is the handler: it writes an invoice for each order.
type Invoice struct{ db idemsql.DB }

// Handle implements idem.Handler.
func (h *Invoice) Handle(ctx context.Context, msg idem.Message[OrderPlaced]) error {
	_, err := h.db.Exec(ctx, `INSERT INTO invoice (order_id, cents) VALUES ($1, $2)`, msg.Payload.OrderID, msg.Payload.Cents)
	return err
}

// newInvoiceWorld is what the handler is tested on.
func newInvoiceWorld(t *testing.T) *idemtest.World {
	w := idemtest.SQLite(t)
	_, err := w.DB().Exec(t.Context(), `CREATE TABLE invoice (order_id TEXT NOT NULL, cents BIGINT NOT NULL)`)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// invoiceFixture tells the gold test how to try Invoice out.
func invoiceFixture(_ *testing.T, w *idemtest.World) idemtest.Fixture[*Invoice] {
	return idemtest.Fixture[*Invoice]{
		Handler: &Invoice{w.DB()},

		Sample: func(n int) idemtest.Message {
			return idemtest.Message{Payload: OrderPlaced{OrderID: fmt.Sprint("order-", n), Cents: 1990}}
		},
		Reuse: func(m idemtest.Message) idemtest.Message {
			other := m.Payload.(OrderPlaced)
			other.Cents = 1
			m.Payload = other
			return m
		},
		Effect: func(ctx context.Context, m idemtest.Message) (n int, err error) {
			order := m.Payload.(OrderPlaced).OrderID
			err = w.DB().QueryRow(ctx, `SELECT count(*) FROM invoice WHERE order_id = $1`, order).Scan(&n)
			return n, err
		},
	}
}

// A handler, its fixture, and the test that proves that an order is invoiced
// once.
func ExampleGold() {
	invoicing := idem.Operation{Name: "invoicing", Topic: "orders.v1", Key: idem.KeyFrom(idem.FromPayload("/orderId"))}

	_ = func(t *testing.T) { // func TestInvoiceGold(t *testing.T)
		idemtest.Gold(t, newInvoiceWorld, invoicing, invoiceFixture, func(h *Invoice) idem.Handler[OrderPlaced] { return h })
	}
}
