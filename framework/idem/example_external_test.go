package idem_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	store "github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/memory"
)

// Cobranca asks for an order's payment.
type Cobranca struct {
	PedidoID string `json:"pedidoId"`
	Centavos int64  `json:"centavos"`
}

// Recibo is the gateway's receipt.
type Recibo struct {
	Numero string `json:"numero"`
}

// Cobrar charges cards at a gateway whose first answer never arrives.
type Cobrar struct {
	charges map[string]Recibo // at the gateway
	calls   int
}

// Call is the work outside the database. It ran, but we do not hear of it.
func (c *Cobrar) Call(ctx context.Context, msg idem.Message[Cobranca]) (Recibo, error) {
	c.calls++
	c.charges[msg.Key] = Recibo{Numero: "r-" + msg.Key}
	return Recibo{}, context.DeadlineExceeded
}

// Reconcile asks the gateway what became of the call.
func (c *Cobrar) Reconcile(ctx context.Context, msg idem.Message[Cobranca]) (Recibo, idem.CallOutcome, error) {
	if r, ok := c.charges[msg.Key]; ok {
		return r, idem.CallApplied, nil
	}
	return Recibo{}, idem.CallNotApplied, nil
}

// Apply commits together with the result.
func (c *Cobrar) Apply(ctx context.Context, msg idem.Message[Cobranca], r Recibo) error {
	store.TxFrom(ctx).Set("receipt of "+msg.Payload.PedidoID, r.Numero)
	return nil
}

// A card is charged, and the answer gets lost. The next attempt asks the gateway
// instead of charging again.
func ExampleExternal() {
	settled := make(chan middleware.Observation, 16)
	parts, closeAll, err := memory.Build(idem.Config{Transport: "memory"}, wiring.Options{
		Logger:   slog.New(slog.DiscardHandler),
		Observer: func(o middleware.Observation) { settled <- o },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeAll()

	cobrar := &Cobrar{charges: map[string]Recibo{}}
	op := idem.Operation{Name: "cobrar", Topic: "cobrancas", Key: idem.KeyFrom(idem.FromPayload("/pedidoId"))}
	if err := idem.RegisterExternal(parts.App, op, cobrar); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- parts.App.Run(ctx) }()

	msg := message.NewMessage("", []byte(`{"pedidoId":"p1","centavos":1990}`))
	if err := parts.Transport.Publisher().Publish("cobrancas", msg); err != nil {
		fmt.Println(err)
	}
	fmt.Println("first attempt:", (<-settled).Outcome)
	fmt.Println("second attempt:", (<-settled).Outcome)
	stop()
	fmt.Println("ended:", <-ended)
	receipt, _ := parts.Tables.Get("receipt of p1")
	fmt.Println("calls:", cobrar.calls, "receipt:", receipt)
	// Output:
	// first attempt: retry
	// second attempt: done
	// ended: <nil>
	// calls: 1 receipt: r-p1
}
