package outbox_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/outbox"
	"github.com/idem-go/idem/framework/store/memory"
)

// Rows that committed are published through any Watermill publisher, those of a
// transaction that was rolled back are not.
func ExampleRelay() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	pubSub := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	faturas, err := pubSub.Subscribe(ctx, "faturas")
	if err != nil {
		fmt.Println(err)
		return
	}
	relay, err := outbox.New(outbox.Config{Store: store, Publisher: pubSub})
	if err != nil {
		fmt.Println(err)
		return
	}

	write := func(id string, failure error) error {
		return store.Do(ctx, func(tx idem.Tx) error {
			if err := tx.Emit(ctx, idem.Outgoing{ID: id, Topic: "faturas", Payload: []byte("fatura")}); err != nil {
				return err
			}
			return failure
		})
	}
	fmt.Println(write("f1", nil), write("f2", context.Canceled), write("f1", nil)) // an id counts once

	done := make(chan *message.Message)
	go func() {
		msg := <-faturas
		msg.Ack()
		done <- msg
	}()
	n, err := relay.Drain(ctx) // Run does this until its context ends
	fmt.Println(n, err, (<-done).UUID)
	fmt.Println(pubSub.Close())
	// Output:
	// <nil> context canceled <nil>
	// 1 <nil> f1
	// <nil>
}
