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

// Pedido is an order.
type Pedido struct {
	ID       string `json:"id"`
	Centavos int64  `json:"centavos"`
}

// Fatura is the invoice of an order.
type Fatura struct {
	PedidoID string `json:"pedidoId"`
}

// faturar writes and emits in one transaction.
func faturar(ctx context.Context, msg idem.Message[Pedido]) error {
	store.TxFrom(ctx).Add("invoiced", msg.Payload.Centavos)
	return idem.Emit(ctx, idem.Event{Topic: "faturas", Payload: Fatura{msg.Payload.ID}})
}

// avisar consumes what faturar emits.
func avisar(ctx context.Context, msg idem.Message[Fatura]) error {
	store.TxFrom(ctx).Add("notified", 1)
	return nil
}

// A producer sends an order three times. It is invoiced once, and the event that
// the handler emits takes effect once, too.
func Example() {
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

	err = idem.Register(parts.App, idem.Operation{
		Name: "faturar", Topic: "pedidos", Key: idem.KeyFrom(idem.FromPayload("/id")),
	}, idem.HandlerFunc[Pedido](faturar))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = idem.Register(parts.App, idem.Operation{
		Name: "avisar", Topic: "faturas", Key: idem.KeyFrom(idem.FromPayload("/pedidoId")),
	}, idem.HandlerFunc[Fatura](avisar))
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- parts.App.Run(ctx) }()

	for range 3 {
		msg := message.NewMessage("", []byte(`{"id":"p1","centavos":1990}`))
		if err := parts.Transport.Publisher().Publish("pedidos", msg); err != nil {
			fmt.Println(err)
		}
	}
	outcomes := map[string]int{}
	for range 4 { // three copies of the order, one event
		o := <-settled
		outcomes[o.Consumer+": "+string(o.Outcome)]++
	}
	stop()
	fmt.Println(outcomes, <-ended)
	fmt.Println(parts.Tables.Sum("invoiced"), "centavos invoiced,", parts.Tables.Sum("notified"), "customer notified")
	// Output:
	// map[avisar: done:1 faturar: done:1 faturar: duplicate:2] <nil>
	// 1990 centavos invoiced, 1 customer notified
}
