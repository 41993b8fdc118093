package doccheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/middleware"
	queue "github.com/idem-go/idem/transports/postgres"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/sqlite"
)

type PedidoCriado struct {
	PedidoID string `json:"pedidoId"`
	Centavos int64  `json:"centavos"`
}

func faturar(ctx context.Context, msg idem.Message[PedidoCriado]) error {
	p := msg.Payload
	_, err := sqldb.TxFrom(ctx).ExecContext(ctx,
		"INSERT INTO faturas (pedido_id, centavos) VALUES (?, ?)", p.PedidoID, p.Centavos)
	if err != nil {
		return err
	}
	return idem.Emit(ctx, idem.Event{Topic: "faturas", Payload: p})
}

func register(app *idem.App) error {
	return idem.Register(app, idem.Operation{
		Name:  "faturar",
		Topic: "pedidos",
		Key:   idem.KeyFrom(idem.FromPayload("/pedidoId")),
		Emits: []string{"faturas"},
	}, idem.HandlerFunc[PedidoCriado](faturar))
}

func run(ctx context.Context, cfg idem.Config) error {
	parts, closeAll, err := sqlite.Build(ctx, cfg, wiring.Options{})
	if err != nil {
		return err
	}
	defer closeAll()
	if err := register(parts.App); err != nil {
		return err
	}
	return parts.App.Run(ctx)
}

// An order comes three times and is invoiced once.
func Example() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	dir, err := os.MkdirTemp("", "readme-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := idem.Config{Transport: "sqlite"}
	cfg.SQLite.Path = filepath.Join(dir, "idem.db")
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()

	producer, closeAll, err := sqlite.Build(ctx, cfg, wiring.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeAll()
	if _, err := producer.DB.ExecContext(ctx, "CREATE TABLE faturas (pedido_id TEXT, centavos INTEGER)"); err != nil {
		fmt.Println(err)
	}
	ended := make(chan error)
	go func() { ended <- run(ctx, cfg) }()

	group, err := producer.Transport.Subscriber(idem.SubscriberConfig{Group: "contas"})
	if err != nil {
		fmt.Println(err)
		return
	}
	faturas, err := group.Subscribe(ctx, "faturas")
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		msg := message.NewMessage(watermill.NewUUID(), []byte(`{"pedidoId":"p1","centavos":1990}`))
		msg.Metadata.Set(idem.MetadataKey, "p1") // one at a time, in order
		if err := producer.Transport.Publisher().Publish("pedidos", msg); err != nil {
			fmt.Println(err)
		}
	}
	event := <-faturas
	event.Ack()
	for { // until the last copy is acknowledged
		n, _, err := depth(ctx, producer.Transport)
		if n == 0 || err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	fmt.Println(string(event.Payload), <-ended, group.Close())
	var invoices int
	err = producer.DB.QueryRow("SELECT count(*) FROM faturas").Scan(&invoices)
	fmt.Println(invoices, "invoice", err)
	// Output:
	// {"pedidoId":"p1","centavos":1990} <nil> <nil>
	// 1 invoice <nil>
}

func depth(ctx context.Context, t idem.Transport) (n int, oldest time.Duration, err error) {
	return t.(interface {
		Depth(ctx context.Context, topic, group string) (int, time.Duration, error)
	}).Depth(ctx, "pedidos", "faturar")
}

func adopt(ctx context.Context, router *message.Router, subscriber message.Subscriber, store idem.Store) error {
	if err := store.Migrate(ctx); err != nil { // an App does this by itself
		return err
	}
	engine, err := idem.NewEngine(store, nil, idem.Classifier{}, nil)
	if err != nil {
		return err
	}
	op := idem.Operation{Name: "faturar", Topic: "pedidos", Key: idem.KeyFrom(idem.FromPayload("/pedidoId"))}
	consumer, err := idem.NewConsumer(engine, op, idem.HandlerFunc[PedidoCriado](faturar))
	if err != nil {
		return err
	}
	chain, err := middleware.Chain(middleware.Options{})(consumer)
	if err != nil {
		return err
	}
	none := func(*message.Message) error { return nil } // the chain runs the consumer's handler
	router.AddConsumerHandler("faturar", op.Topic, subscriber, none).AddMiddleware(chain...)
	router.AddConsumerHandler("faturar.retry", op.RetryTopic(), subscriber, none).AddMiddleware(chain...)
	return nil
}

func publishInTx(tx pgx.Tx, t *queue.Transport, msg *message.Message) error {
	publisher, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: t.Schema()}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	return publisher.Publish("pedidos", msg) // delivered if and when tx commits
}

func replayAll(ctx context.Context, letters *deadletter.Service) error {
	query := idem.DeadLetterQuery{Consumer: "faturar", State: idem.DeadLetterParked}
	for d, err := range letters.All(ctx, query) {
		if err != nil {
			return err
		}
		fmt.Println(d.ID, d.Key, d.Reason, d.Class, d.Error)
		err := letters.Replay(ctx, d.ID, deadletter.ReplayOptions{})
		if err != nil && !errors.Is(err, idem.ErrAlreadyDone) { // done meanwhile, or the key is another message's
			return err
		}
	}
	return nil
}

// What the documents show and nothing here calls.
var _ = []any{adopt, publishInTx, replayAll}
