package matrix

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/sqlitedb"
	pgtransport "github.com/idem-go/idem/transports/postgres"
)

// strangers are producers that know nothing of idem: no key header, no ordering
// key, some without any message id.
func (w *world) strangers(t *testing.T, p *proc) map[string]func(body []byte) {
	t.Helper()
	switch w.cfg.Transport {
	case "kafka":
		plain, err := wmkafka.NewPublisher(wmkafka.PublisherConfig{
			Brokers: w.cfg.Kafka.Brokers, Marshaler: wmkafka.DefaultMarshaler{},
		}, watermill.NopLogger{})
		must(t, err)
		t.Cleanup(func() { _ = plain.Close() })
		client, err := kgo.NewClient(kgo.SeedBrokers(w.cfg.Kafka.Brokers...))
		must(t, err)
		t.Cleanup(client.Close)
		return map[string]func([]byte){
			"watermill-kafka": func(body []byte) {
				must(t, plain.Publish(w.topic, message.NewMessage(watermill.NewUUID(), body)))
			},
			"another client": func(body []byte) {
				must(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: w.topic, Value: body}).FirstErr())
			},
		}
	case "postgres":
		pool, err := pgxpool.New(t.Context(), string(w.cfg.Postgres.DSN))
		must(t, err)
		t.Cleanup(pool.Close)
		plain, err := wsql.NewPublisher(wsql.BeginnerFromPgx(pool), wsql.PublisherConfig{
			SchemaAdapter: p.Transport.(*pgtransport.Transport).Schema(),
		}, watermill.NopLogger{})
		must(t, err)
		return map[string]func([]byte){
			"watermill-sql": func(body []byte) {
				must(t, plain.Publish(w.topic, message.NewMessage(watermill.NewUUID(), body)))
			},
			"SQL": func(body []byte) {
				_, err := pool.Exec(t.Context(), `INSERT INTO idem_queue_messages (topic, payload) VALUES ($1, $2)`, w.topic, body)
				must(t, err)
			},
		}
	default:
		db, err := sqlitedb.Open(w.cfg.SQLite.Path)
		must(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return map[string]func([]byte){"SQL": func(body []byte) {
			_, err := db.ExecContext(t.Context(), `INSERT INTO idem_queue_messages (topic, uuid, payload) VALUES (?, '', ?)`, w.topic, body)
			must(t, err)
		}}
	}
}

// What strangers publish takes effect once: for each key where the payload
// has one, else for each message, whose derived key is the same in every try
// and every delivery.
func TestStrangersPublish(t *testing.T) {
	on(t, withSQL, func(t *testing.T, w *world) {
		byPayload := w.operation("billing")
		derived := w.operation("mail")
		derived.Key, derived.OnMissingKey = idem.KeyFrom(idem.FromHeader("event-id")), idem.MissingDerives
		derived.Policy.Quick = -1 // each try is a delivery of its own
		var runs tally
		start := func() *proc {
			p := w.app(t)
			must(t, idem.Register(p.App, byPayload, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
				return p.effect(ctx, m.Payload.ID)
			})))
			must(t, idem.Register(p.App, derived, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
				run, leave := runs.enter(m.Key)
				defer leave()
				if err := p.effect(ctx, m.Key); err != nil || run > 1 {
					return err
				}
				return errBlip
			})))
			return p.start()
		}
		p := start()
		const each = 5
		want, messages := 0, 0
		for name, publish := range w.strangers(t, p) {
			for i := range each {
				for range 2 {
					publish(fmt.Appendf(nil, `{"id":"%s %d"}`, name, i))
				}
			}
			want += each + 2*each
			messages += 2 * each
		}
		check := func(p *proc, duplicates int) {
			t.Helper()
			p.awaitCount("duplicates", duplicates, func() int { return p.count(idem.Duplicate) })
			var got map[string]int
			p.await("effects", func() (bool, any) {
				var err error
				got, err = p.effects(t.Context())
				return err == nil && len(got) >= want, len(got)
			})
			for id, n := range got {
				if n != 1 {
					t.Errorf("%q took effect %d times, want once", id, n)
				}
			}
			if len(got) != want {
				t.Errorf("%d effects, want %d", len(got), want)
			}
			p.wantNoDead()
		}
		check(p, messages/2)
		if w.cfg.Transport != "kafka" {
			return
		}
		// The operator sets the groups back to the beginning.
		must(t, p.stop())
		for _, op := range []idem.Operation{byPayload, derived} {
			w.rewind(t, op.Name)
		}
		check(start(), 2*messages)
	})
}

// rewind sets a group of nobody back to the beginning of the topic.
func (w *world) rewind(t *testing.T, group string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.cfg.Kafka.Brokers...), kgo.MaxVersions(kversion.V2_8_0())) // later ones want topic ids
	must(t, err)
	defer client.Close()
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = w.topic
	for i := range w.cfg.Kafka.Partitions {
		partition := kmsg.NewOffsetCommitRequestTopicPartition()
		partition.Partition = int32(i)
		topic.Partitions = append(topic.Partitions, partition)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Topics = group, []kmsg.OffsetCommitRequestTopic{topic}
	resp, err := req.RequestWith(t.Context(), client)
	must(t, err)
	for _, partition := range resp.Topics[0].Partitions {
		if partition.ErrorCode != 0 {
			t.Fatalf("rewinding partition %d: error code %d", partition.Partition, partition.ErrorCode)
		}
	}
}
