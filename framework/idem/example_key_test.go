package idem_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	store "github.com/idem-go/idem/framework/store/memory"
)

func pagar(context.Context, idem.Message[[]byte]) error { return nil }

// The key comes from the message, never from the consumer: from a header, from
// a place in the payload, or from several of them.
func ExampleKeyRecipe() {
	engine, err := idem.NewEngine(store.New(store.Config{}), nil, idem.Classifier{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, recipe := range []idem.KeyRecipe{
		idem.KeyFrom(idem.FromHeader("Idempotency-Key")),
		idem.KeyFrom(idem.FromPayload("/payment/id")),
		idem.KeyFrom(idem.FromPayload("/provider"), idem.FromPayload("/payment/id"), idem.FromPayload("/status")),
		{Parts: []idem.KeyPart{idem.FromPayload("/payment/id")}, Version: 2},
		idem.KeyFrom(idem.FromPayload("/event/id")), // not in this message
	} {
		op := idem.Operation{Name: "pagar", Topic: "pagamentos", Key: recipe}
		consumer, err := idem.NewConsumer(engine, op, idem.HandlerFunc[[]byte](pagar))
		if err != nil {
			fmt.Println(err)
			return
		}
		msg := message.NewMessage("", []byte(`{"provider":"stripe","payment":{"id":"pay_1"},"status":"paid"}`))
		msg.Metadata.Set("Idempotency-Key", "7f3e")
		attempt := consumer.Attempt(msg)
		fmt.Printf("%-24q missing: %t\n", attempt.Key, attempt.Unreadable())
	}
	// Output:
	// "7f3e"                   missing: false
	// "pay_1"                  missing: false
	// "|stripe|pay_1|paid"     missing: false
	// "v2:pay_1"               missing: false
	// ""                       missing: true
}
