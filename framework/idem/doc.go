// Package idem makes processing a message N times have the effect of
// processing it once, on any broker.
//
// # The story
//
// Every serious broker delivers at least once. So a consumer is described by
// an [Operation]: its name, its topic, and the [KeyRecipe] that says what makes
// two messages the same. A [Handler] does the work; it returns an error and
// nothing else:
//
//	op := idem.Operation{
//		Name:  "faturar",
//		Topic: "pedidos",
//		Key:   idem.KeyFrom(idem.FromPayload("/pedidoId")),
//		Emits: []string{"faturas"},
//	}
//	err := idem.Register(app, op, idem.HandlerFunc[PedidoCriado](
//		func(ctx context.Context, msg idem.Message[PedidoCriado]) error {
//			tx := postgres.TxFrom(ctx) // the unit of work's own transaction
//			if _, err := tx.Exec(ctx, "INSERT INTO faturas …", msg.Payload.PedidoID); err != nil {
//				return err
//			}
//			return idem.Emit(ctx, idem.Event{Topic: "faturas", Payload: FaturaEmitida{…}})
//		}))
//
// The engine claims the key, runs the handler and commits the key, the
// handler's writes and its events in one transaction of the [Store]. A copy of
// the message that comes later finds the key and is acked; a copy that comes
// at the same moment waits for the first one's end. The source is acked only
// when an outcome is durable.
//
// When a handler fails, the [Classifier] says whose fault it is and [Decide]
// says what follows: a retry after a durable delay, a dead letter, an audited
// discard, a pause of the consumer (a bug), or coming back later at no attempt
// (a dependency is down, we are shutting down). Mark an error with [Permanent],
// [Transient], [RetryAfter], [Ignore], [Bug], [Invalid] or [DependencyDown] to
// say it yourself; marks survive wrapping.
//
// Effects outside the database cannot be rolled back. An [External] splits
// them in Call and Apply, with the intent recorded before and the result
// after; what began and has no known end is reconciled or parked, never
// blindly repeated.
//
// An [App] puts consumers on one [Transport] and one [Store] and drains them in
// order. Package middleware owns the pipeline, framework/outbox publishes what
// handlers emit, framework/deadletter works on what was given up, and wiring/…
// assembles all of it for each transport.
//
// # What is guaranteed
//
// For one consumer and key the transactional effect commits at most once, and
// exactly once unless the message ends as a dead letter or an audited discard.
// That holds for as long as the key is remembered (Operation.Retention).
// Events are published at least once, under deterministic ids. Effects outside
// the database are at least once unless the third party honours the key or a
// [Reconciler] can ask it.
package idem
