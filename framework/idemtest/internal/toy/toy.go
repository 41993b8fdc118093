// Package toy has small handlers that are right, for tests of package idemtest:
// what they prove with a correct one must hold, and must fail once something is
// broken.
package toy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/idemtest"
)

// Order is a message.
type Order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
	Note  string `json:"note,omitempty"`
}

// Validate is the contract.
func (o Order) Validate() error {
	if o.Cents <= 0 {
		return errors.New("/cents: must be positive")
	}
	return nil
}

// Bill writes an invoice for each order.
type Bill struct{ DB idemsql.DB }

// Handle implements idem.Handler.
func (b Bill) Handle(ctx context.Context, msg idem.Message[Order]) error {
	_, err := b.DB.Exec(ctx, `INSERT INTO invoices (order_id, cents) VALUES ($1, $2)`, msg.Payload.ID, msg.Payload.Cents)
	return err
}

// Billing is the operation of both handlers.
func Billing() idem.Operation {
	return idem.Operation{Name: "billing", Topic: "orders", Key: idem.KeyFrom(idem.FromPayload("/id"))}
}

// NewWorld is a world on SQLite with the tables.
func NewWorld(t *testing.T) *idemtest.World {
	t.Helper()
	w := idemtest.SQLite(t)
	CreateTables(t, w)
	return w
}

// CreateTables makes the business tables. They have no constraint that would
// do idem's work.
func CreateTables(t *testing.T, w *idemtest.World) {
	t.Helper()
	if _, err := w.DB().Exec(t.Context(), `CREATE TABLE invoices (order_id TEXT NOT NULL, cents BIGINT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
}

// Sample is the n-th order.
func Sample(n int) idemtest.Message {
	return idemtest.Message{Payload: Order{ID: fmt.Sprint("o-", n), Cents: 100}}
}

// Reuse is m with another amount.
func Reuse(m idemtest.Message) idemtest.Message {
	o := m.Payload.(Order)
	o.Cents++
	m.Payload = o
	return m
}

// Invoices is a probe: it counts the invoices of an order.
func Invoices(w *idemtest.World) func(context.Context, idemtest.Message) (int, error) {
	return func(ctx context.Context, m idemtest.Message) (n int, err error) {
		err = w.DB().QueryRow(ctx, `SELECT count(*) FROM invoices WHERE order_id = $1`, m.Payload.(Order).ID).Scan(&n)
		return n, err
	}
}

// BillFixture is the fixture of [Bill].
func BillFixture(_ *testing.T, w *idemtest.World) idemtest.Fixture[Bill] {
	return idemtest.Fixture[Bill]{Handler: Bill{w.DB()}, Sample: Sample, Reuse: Reuse, Effect: Invoices(w)}
}

// BillHandler is what a fixture's handler is an idem.Handler by.
func BillHandler(b Bill) idem.Handler[Order] { return b }

// Gateway stands in for a payment provider.
type Gateway struct {
	mu      sync.Mutex
	charges map[string][]string // order ids by idempotency key
}

// Charge charges again each time it is called.
func (g *Gateway) Charge(key, order string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.charges[key] = append(g.charges[key], order)
	return len(g.charges[key])
}

// Find returns how often there was a charge under the key.
func (g *Gateway) Find(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.charges[key])
}

// Count returns how often an order was charged.
func (g *Gateway) Count(order string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, orders := range g.charges {
		for _, o := range orders {
			if o == order {
				n++
			}
		}
	}
	return n
}

// Charge charges each order.
type Charge struct {
	DB      idemsql.DB
	Gateway *Gateway
}

// Call implements idem.External.
func (c Charge) Call(_ context.Context, msg idem.Message[Order]) (int, error) {
	return c.Gateway.Charge(msg.Key, msg.Payload.ID), nil
}

// Apply implements idem.External.
func (c Charge) Apply(ctx context.Context, msg idem.Message[Order], receipt int) error {
	_, err := c.DB.Exec(ctx, `INSERT INTO invoices (order_id, cents) VALUES ($1, $2)`, msg.Payload.ID, receipt)
	return err
}

// AskingCharge can find out what became of a charge.
type AskingCharge struct{ Charge }

// Reconcile implements idem.Reconciler.
func (c AskingCharge) Reconcile(_ context.Context, msg idem.Message[Order]) (int, idem.CallOutcome, error) {
	if n := c.Gateway.Find(msg.Key); n > 0 {
		return n, idem.CallApplied, nil
	}
	return 0, idem.CallNotApplied, nil
}

// ChargeFixture is the fixture of [Charge]; its probe counts at the gateway.
func ChargeFixture(_ *testing.T, w *idemtest.World) idemtest.Fixture[Charge] {
	g := &Gateway{charges: map[string][]string{}}
	return idemtest.Fixture[Charge]{
		Handler: Charge{w.DB(), g}, Sample: Sample, Reuse: Reuse,
		Effect: func(_ context.Context, m idemtest.Message) (int, error) { return g.Count(m.Payload.(Order).ID), nil },
	}
}
