package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	store "github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/memory"
)

// Pedido is an order.
type Pedido struct {
	ID string `json:"id"`
}

// An order whose customer nobody knows becomes a dead letter. Somebody looks at
// it, adds the customer, and replays it under the same idempotency key.
func ExampleService_Replay() {
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

	var known atomic.Bool
	op := idem.Operation{Name: "faturar", Topic: "pedidos", Key: idem.KeyFrom(idem.FromPayload("/id"))}
	err = idem.Register(parts.App, op, idem.HandlerFunc[Pedido](func(ctx context.Context, msg idem.Message[Pedido]) error {
		if !known.Load() {
			return idem.Permanent(errors.New("customer is not known"))
		}
		store.TxFrom(ctx).Add("invoices", 1)
		return nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- parts.App.Run(ctx) }()

	msg := message.NewMessage("", []byte(`{"id":"p1"}`))
	if err := parts.Transport.Publisher().Publish("pedidos", msg); err != nil {
		fmt.Println(err)
	}
	fmt.Println((<-settled).Outcome)

	parked := idem.DeadLetterQuery{Consumer: "faturar", State: idem.DeadLetterParked}
	for d, err := range parts.DeadLetters.All(ctx, parked) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(d.Key, d.Reason, d.Class, d.Error)
		known.Store(true)
		if err := parts.DeadLetters.Replay(ctx, d.ID, deadletter.ReplayOptions{}); err != nil {
			fmt.Println(err)
		}
		fmt.Println((<-settled).Outcome)

		err = parts.DeadLetters.Replay(ctx, d.ID, deadletter.ReplayOptions{})
		fmt.Println("once more:", errors.Is(err, idem.ErrAlreadyDone))
	}
	stop()
	fmt.Println(parts.Tables.Sum("invoices"), "invoice", <-ended)
	// Output:
	// dead_letter
	// p1 permanent permanent customer is not known
	// done
	// once more: true
	// 1 invoice <nil>
}
