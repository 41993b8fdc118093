package middleware_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/outbox"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/middleware"
)

// Pedido is an order.
type Pedido struct {
	ID string `json:"id"`
}

// A router that exists already, with a subscriber of its own, gets the pipeline
// as the middleware of one handler. The second handler brings back delayed
// retries and replays, which the relay publishes.
func ExampleChain() {
	logger := watermill.NopLogger{}
	pubSub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, logger)
	router, err := message.NewRouter(message.RouterConfig{}, logger)
	if err != nil {
		fmt.Println(err)
		return
	}

	store := memory.New(memory.Config{})
	engine, err := idem.NewEngine(store, nil, idem.Classifier{}, nil) // nil: not one of idem's transports
	if err != nil {
		fmt.Println(err)
		return
	}
	op := idem.Operation{Name: "faturar", Topic: "pedidos", Key: idem.KeyFrom(idem.FromPayload("/id"))}
	consumer, err := idem.NewConsumer(engine, op, idem.HandlerFunc[Pedido](func(ctx context.Context, msg idem.Message[Pedido]) error {
		memory.TxFrom(ctx).Add("invoices", 1)
		return nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	settled := make(chan middleware.Observation, 16)
	chain, err := middleware.Chain(middleware.Options{Observer: func(o middleware.Observation) { settled <- o }})(consumer)
	if err != nil {
		fmt.Println(err)
		return
	}
	noHandler := func(*message.Message) error { return nil } // the last middleware runs the consumer's own
	router.AddConsumerHandler("faturar", op.Topic, pubSub, noHandler).AddMiddleware(chain...)
	router.AddConsumerHandler("faturar.retry", op.RetryTopic(), pubSub, noHandler).AddMiddleware(chain...)

	relay, err := outbox.New(outbox.Config{Store: store, Publisher: pubSub})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	relayed := make(chan error)
	go func() { relayed <- relay.Run(ctx) }()
	ended := make(chan error)
	go func() { ended <- router.Run(ctx) }()

	for range 2 {
		if err := pubSub.Publish("pedidos", message.NewMessage(watermill.NewUUID(), []byte(`{"id":"p1"}`))); err != nil {
			fmt.Println(err)
		}
	}
	outcomes := map[idem.Kind]int{(<-settled).Outcome: 1}
	outcomes[(<-settled).Outcome]++
	stop()
	fmt.Println(outcomes, <-ended, <-relayed)
	fmt.Println(store.Sum("invoices"), "invoice")
	// Output:
	// map[done:1 duplicate:1] <nil> <nil>
	// 1 invoice
}

// Whoever puts parts together by hand asks whether the order is right.
func ExampleCheck() {
	fmt.Println(middleware.Check(middleware.PartSettle, middleware.PartRetry, middleware.PartRecover, middleware.PartIdempotency))
	fmt.Println(middleware.Check(middleware.PartRetry, middleware.PartSettle, middleware.PartIdempotency))
	// Output:
	// <nil>
	// middleware: "settle" must stand outside "retry": a message would be dead-lettered or acked before its tries are over
}
