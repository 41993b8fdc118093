package idemtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/idemtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

var billing = idem.Operation{Name: "billing", Topic: "orders", Key: idem.KeyFrom(idem.FromPayload("/id"))}

func newWorld(t *testing.T) *idemtest.World {
	w := idemtest.SQLite(t)
	if _, err := w.DB().Exec(t.Context(), `CREATE TABLE invoices (order_id TEXT NOT NULL, cents BIGINT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return w
}

func sample(n int) idemtest.Message {
	return idemtest.Message{Payload: Order{ID: fmt.Sprint("o-", n), Cents: 100}}
}

func reuse(m idemtest.Message) idemtest.Message {
	o := m.Payload.(Order)
	o.Cents++
	m.Payload = o
	return m
}

func invoices(w *idemtest.World) func(context.Context, idemtest.Message) (int, error) {
	return func(ctx context.Context, m idemtest.Message) (n int, err error) {
		err = w.DB().QueryRow(ctx, `SELECT count(*) FROM invoices WHERE order_id = $1`, m.Payload.(Order).ID).Scan(&n)
		return n, err
	}
}

func billFixture(t *testing.T, w *idemtest.World) idemtest.Fixture[Bill] {
	return idemtest.Fixture[Bill]{Handler: Bill{w.DB()}, Sample: sample, Reuse: reuse, Effect: invoices(w)}
}

func billHandler(b Bill) idem.Handler[Order] { return b }

func TestACorrectHandlerPasses(t *testing.T) {
	begun := time.Now()
	idemtest.Gold(t, newWorld, billing, billFixture, billHandler)
	t.Logf("took %v", time.Since(begun))
}

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

func chargeFixture(t *testing.T, w *idemtest.World) idemtest.Fixture[Charge] {
	g := &Gateway{charges: map[string][]string{}}
	return idemtest.Fixture[Charge]{
		Handler: Charge{w.DB(), g}, Sample: sample, Reuse: reuse,
		Effect: func(_ context.Context, m idemtest.Message) (int, error) { return g.Count(m.Payload.(Order).ID), nil },
	}
}

func TestACorrectExternalHandlerPasses(t *testing.T) {
	t.Run("that cannot be asked", func(t *testing.T) {
		idemtest.GoldExternal(t, newWorld, billing, chargeFixture, func(c Charge) idem.External[Order, int] { return c })
	})
	t.Run("that can be asked", func(t *testing.T) {
		idemtest.GoldExternal(t, newWorld, billing, chargeFixture, func(c Charge) idem.External[Order, int] { return AskingCharge{c} })
	})
	t.Run("counted in the tables", func(t *testing.T) {
		idemtest.GoldExternal(t, newWorld, billing, func(t *testing.T, w *idemtest.World) idemtest.Fixture[Charge] {
			f := chargeFixture(t, w)
			f.Effect = invoices(w)
			return f
		}, func(c Charge) idem.External[Order, int] { return AskingCharge{c} })
	})
}
