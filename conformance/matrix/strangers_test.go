package matrix

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	pgtransport "github.com/idem-go/idem/transports/postgres"
)

// Producers that know nothing of idem: no key header, no ordering key, some
// without any message id.

func (f sqliteFile) strangers(t testing.TB) map[string]func(topic string, body []byte) {
	return map[string]func(string, []byte){"SQL": func(topic string, body []byte) {
		_, err := f.db.ExecContext(t.Context(), `INSERT INTO idem_queue_messages (topic, uuid, payload) VALUES (?, '', ?)`, topic, body)
		must(t, err)
	}}
}

func (db pgDatabase) strangers(t testing.TB) map[string]func(topic string, body []byte) {
	tr, err := pgtransport.New(t.Context(), pgtransport.Config{Pool: db.admin, Logger: quiet.Logger})
	must(t, err)
	t.Cleanup(func() { must(t, tr.Close()) })
	plain, err := wsql.NewPublisher(wsql.BeginnerFromPgx(db.admin), wsql.PublisherConfig{SchemaAdapter: tr.Schema()}, watermill.NopLogger{})
	must(t, err)
	return map[string]func(string, []byte){
		"watermill-sql": func(topic string, body []byte) {
			must(t, plain.Publish(topic, message.NewMessage(watermill.NewUUID(), body)))
		},
		"SQL": func(topic string, body []byte) {
			_, err := db.admin.Exec(t.Context(), `INSERT INTO idem_queue_messages (topic, payload) VALUES ($1, $2)`, topic, body)
			must(t, err)
		},
	}
}

func (k kafkaCluster) strangers(t testing.TB) map[string]func(topic string, body []byte) {
	plain, err := wmkafka.NewPublisher(wmkafka.PublisherConfig{Brokers: k.brokers, Marshaler: wmkafka.DefaultMarshaler{}}, watermill.NopLogger{})
	must(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	client, err := kgo.NewClient(kgo.SeedBrokers(k.brokers...))
	must(t, err)
	t.Cleanup(client.Close)
	return map[string]func(string, []byte){
		"watermill-kafka": func(topic string, body []byte) {
			must(t, plain.Publish(topic, message.NewMessage(watermill.NewUUID(), body)))
		},
		"another client": func(topic string, body []byte) {
			must(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: body}).FirstErr())
		},
	}
}
