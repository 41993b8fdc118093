package docs

import (
	"fmt"
	"time"

	"github.com/idem-go/idem/gen/internal/model"
)

func ptr[T any](v T) *T { return &v }

// orders is a small contract with one of each.
func orders() *model.Contract {
	cents := &model.Type{Kind: model.Int, Minimum: "1", Description: "An amount in hundredths of a real."}
	item := &model.Type{Name: "Item", Kind: model.Object, Closed: true, Fields: []*model.Field{
		{Name: "sku", GoName: "Sku", Type: &model.Type{Kind: model.String, MinLength: ptr(1), Pattern: "^[a-z|-]+$"}, Required: true},
		{Name: "parts", GoName: "Parts", Type: &model.Type{Kind: model.Array}},
	}}
	item.Fields[1].Type.Elem = item
	status := &model.Type{Name: "Status", Kind: model.String, OpenEnum: true, Enum: []model.EnumValue{
		{Value: "paid", GoName: "StatusPaid"}, {Value: "late", GoName: "StatusLate"},
	}}
	card := &model.Type{Name: "Card", Kind: model.Object, Fields: []*model.Field{
		{Name: "kind", GoName: "Kind", Type: &model.Type{Kind: model.String, Const: `"card"`}, Required: true},
	}}
	pix := &model.Type{Name: "Pix", Kind: model.Object, Fields: []*model.Field{
		{Name: "kind", GoName: "Kind", Type: &model.Type{Kind: model.String, Const: `"pix"`}, Required: true},
	}}
	payment := &model.Type{Name: "Payment", Kind: model.Union, Discriminator: "kind", Variants: []*model.Variant{
		{GoName: "Card", Type: card, Value: "card"}, {GoName: "Pix", Type: pix, Value: "pix"},
	}}
	orderPlaced := &model.Type{Name: "OrderPlaced", Kind: model.Object, Fields: []*model.Field{
		{Name: "orderId", GoName: "OrderID", Type: &model.Type{Kind: model.String, Format: "uuid"}, Required: true, Description: "The order.\n\nIt is the key."},
		{Name: "cents", GoName: "Cents", Type: cents, Required: true},
		{Name: "items", GoName: "Items", Type: &model.Type{Kind: model.Array, Elem: item, MinItems: ptr(1), MaxItems: ptr(50)}, Required: true},
		{Name: "labels", GoName: "Labels", Type: &model.Type{Kind: model.MapOf, Elem: &model.Type{Kind: model.String, MaxLength: ptr(20)}, ElemNullable: true}},
		{Name: "payment", GoName: "Payment", Type: payment},
		{Name: "status", GoName: "Status", Type: status, Nullable: true},
	}}
	invoice := &model.Type{Name: "InvoiceIssued", Kind: model.Object, Fields: []*model.Field{
		{Name: "orderId", GoName: "OrderID", Type: &model.Type{Kind: model.String}, Required: true},
	}}
	receipt := &model.Type{Name: "Receipt", Kind: model.Object, Fields: []*model.Field{
		{Name: "number", GoName: "Number", Type: &model.Type{Kind: model.String}, Required: true},
	}}
	headers := &model.Type{Name: "OrderPlacedHeaders", Kind: model.Object, Fields: []*model.Field{
		{Name: "idempotency-key", GoName: "IdempotencyKey", Type: &model.Type{Kind: model.String}, Required: true},
	}}
	placed := &model.Message{
		Name: "orderPlaced", GoName: "OrderPlaced", Summary: "A customer placed an order.", ContentType: "application/json",
		Payload: orderPlaced, Headers: headers,
		Examples: []model.Example{{
			Name: "book", Payload: []byte(`{"orderId":"0d9f","cents":12990000000000000001,"items":[{"sku":"go"}]}`),
			Headers: map[string]string{"idempotency-key": "k1", "a": "b"},
		}},
	}
	issued := &model.Message{Name: "invoiceIssued", GoName: "InvoiceIssued", Payload: invoice}
	ask := &model.Send{
		ID: "askPayment", GoName: "AskPayment", Summary: "Asks for the payment.", Topic: "invoices",
		Messages: []*model.Message{issued}, OrderingKey: &model.KeyPart{Pointer: "/orderId"},
	}
	place := &model.Send{ID: "placeOrder", GoName: "PlaceOrder", Topic: "orders", Messages: []*model.Message{placed}}
	return &model.Contract{
		Title: "Orders", Version: "1.2.0", Source: "asyncapi.yaml", Description: "Takes orders.\n\nEach once.",
		Operations: []*model.Operation{
			{
				ID: "charge", GoName: "Charge", Scope: "charge", Topic: "invoices", Messages: []*model.Message{issued},
				Summary: "Charges an invoice.", Key: []model.KeyPart{{Pointer: "/orderId"}}, KeyVersion: 1,
				OnMissingKey: "deadletter", OnConflict: "discard", Transaction: "external", Result: receipt,
				Dependency: "gateway", Breaker: &model.Breaker{Failures: 3, OpenFor: 90 * time.Second}, DeadLetterTopic: "-",
				Fingerprint: model.Fingerprint{Pointers: []string{"/orderId"}}, RatePerSecond: 2.5,
			},
			{
				ID: "invoice", GoName: "Invoice", Scope: "billing", Topic: "orders", Messages: []*model.Message{placed},
				Summary: "Invoices an order.", Description: "In one transaction.",
				Key: []model.KeyPart{{Header: "idempotency-key"}, {Pointer: "/orderId"}}, KeyVersion: 2,
				OnMissingKey: "fail", OnConflict: "deadletter", Retention: 720 * time.Hour, Transaction: "own",
				Dispatch: &model.Dispatch{Header: "event", Values: []string{"placed"}, Others: []string{"cancelled", "paid"}},
				Retry:    model.Retry{MaxAttempts: 3, BackoffBase: time.Second, Timeout: 2 * time.Second, OnBug: "deadletter"},
				Emits:    []*model.Send{ask}, LogFields: map[string]string{"order": "/orderId", "amount": "/cents"}, Concurrency: 4,
			},
		},
		Sends:    []*model.Send{ask, place},
		Messages: []*model.Message{issued, placed},
		Types:    []*model.Type{card, invoice, item, orderPlaced, headers, payment, pix, receipt, status},
	}
}

// large has n operations on several topics, in chains and in a circle.
func large(n int) *model.Contract {
	c := &model.Contract{Title: "Large", Source: "asyncapi.yaml"}
	for i := range n {
		t := &model.Type{Name: fmt.Sprintf("Event%d", i), Kind: model.Object}
		m := &model.Message{Name: fmt.Sprintf("event%d", i), GoName: t.Name, Payload: t}
		s := &model.Send{ID: fmt.Sprintf("sendEvent%02d", i), Topic: fmt.Sprintf("topic.%d", (i*7+3)%(n/3+1)), Messages: []*model.Message{m}}
		o := &model.Operation{
			ID: fmt.Sprintf("handleEvent%02d", i), Scope: "s", Topic: fmt.Sprintf("topic.%d", i%(n/3+1)),
			Messages: []*model.Message{m}, Key: []model.KeyPart{{Pointer: "/id"}}, KeyVersion: 1, Transaction: "own",
		}
		if i%3 != 1 {
			o.Emits = []*model.Send{s}
		}
		c.Operations, c.Sends = append(c.Operations, o), append(c.Sends, s)
		c.Messages, c.Types = append(c.Messages, m), append(c.Types, t)
	}
	return c
}
