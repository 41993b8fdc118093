package kafka

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idem-go/idem/framework/idem"
)

func TestKeyHeadersAndPayloadTravelUnchanged(t *testing.T) {
	b := newBench(t, 1)
	tr := b.transport(nil)
	headers := []idem.Header{
		{Name: "z", Value: []byte("1")},
		{Name: "a", Value: []byte{0xff, 0, 0xfe}},
		{Name: "z", Value: []byte("2")},
		{Name: "empty", Value: []byte{}},
		{Name: "null", Value: nil},
	}
	type sent struct {
		UUID    string
		Env     idem.Envelope
		Payload []byte
	}
	want := []sent{
		{"id-1", idem.Envelope{Key: nil, Headers: headers}, []byte("x")},
		{"id-2", idem.Envelope{Key: []byte{}}, []byte{}},
		{"id-3", idem.Envelope{Key: []byte{0, 0xff}}, nil}, // a tombstone
		{"", idem.Envelope{Key: []byte("k")}, []byte{0xc3, 0x28}},
	}
	var msgs []*message.Message
	for _, s := range want {
		m := message.NewMessage(s.UUID, s.Payload)
		m.SetContext(idem.WithEnvelope(context.Background(), s.Env))
		m.Metadata.Set("ignored", "an envelope goes before metadata")
		msgs = append(msgs, m)
	}
	begin := time.Now()
	if err := tr.Publisher().Publish(b.topic, msgs...); err != nil {
		t.Fatal(err)
	}
	m := b.join(tr, idem.SubscriberConfig{})
	for i, s := range want {
		msg := b.receive(m)
		d, ok := idem.DeliveryFrom(msg.Context())
		if !ok {
			t.Fatal("no delivery in the context")
		}
		if diff := cmp.Diff(s, sent{msg.UUID, d.Envelope, msg.Payload}); diff != "" {
			t.Errorf("message %d (-sent +received):\n%s", i, diff)
		}
		if d.Topic != b.topic || d.Group != b.topic || d.Position != "0/"+string(rune('0'+i)) || d.Attempt != 1 {
			t.Errorf("message %d: delivery %q %q %q attempt %d", i, d.Topic, d.Group, d.Position, d.Attempt)
		}
		if age := d.EnqueuedAt.Sub(begin); age < -time.Second || age > 20*time.Second {
			t.Errorf("message %d: enqueued %v after the publish", i, age)
		}
		if i == 0 && msg.Metadata["z"] != "2" {
			t.Errorf("metadata of a repeated header: %q, want the last", msg.Metadata["z"])
		}
		msg.Ack()
	}
	b.wantCommitted(map[int32]int64{0: 4})
}

func TestPlainWatermillServicesInteroperate(t *testing.T) {
	b := newBench(t, 1)
	tr := b.transport(nil)
	plainPub, err := wmkafka.NewPublisher(wmkafka.PublisherConfig{
		Brokers: b.brokers,
		Marshaler: wmkafka.NewWithPartitioningMarshaler(func(string, *message.Message) (string, error) {
			return "the key", nil
		}),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plainPub.Close()
	theirs := message.NewMessage("their id", []byte("theirs"))
	theirs.Metadata.Set("name", "value")
	if err := plainPub.Publish(b.topic, theirs); err != nil {
		t.Fatal(err)
	}
	ours := message.NewMessage("our id", []byte("ours"))
	ours.Metadata.Set("name", "value")
	ours.Metadata.Set(idem.MetadataKey, "our key")
	ours.Metadata.Set(uuidHeader, "forged") // reserved: the message's own id wins
	if err := tr.Publisher().Publish(b.topic, ours); err != nil {
		t.Fatal(err)
	}

	m := b.join(tr, idem.SubscriberConfig{})
	got := b.receive(m)
	got.Ack()
	if !got.Equals(theirs) || string(info(got).Envelope.Key) != "the key" {
		t.Errorf("received %q %v %q", got.UUID, got.Metadata, got.Payload)
	}

	cfg := wmkafka.DefaultSaramaSubscriberConfig()
	cfg.Version = sarama.V2_8_0_0
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	plainSub, err := wmkafka.NewSubscriber(wmkafka.SubscriberConfig{
		Brokers: b.brokers, Unmarshaler: wmkafka.DefaultMarshaler{}, OverwriteSaramaConfig: cfg,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plainSub.Close()
	out, err := plainSub.Subscribe(context.Background(), b.topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []*message.Message{theirs, message.NewMessage("our id", []byte("ours"))} {
		want.Metadata.Set("name", "value")
		got := b.receive(member{out: out})
		if !got.Equals(want) {
			t.Errorf("a plain subscriber received %q %v %q", got.UUID, got.Metadata, got.Payload)
		}
		got.Ack()
	}
}

func TestPublishTellsWhatFailed(t *testing.T) {
	b := newBench(t, 1)
	tr := b.transport(func(c *Config) { c.MaxMessageBytes = 100 })
	pub := tr.Publisher()
	if err := pub.Publish(b.topic); err != nil {
		t.Errorf("publishing nothing: %v", err)
	}

	err := pub.Publish(b.topic+"_missing", message.NewMessage("1", nil), message.NewMessage("2", nil))
	if !errors.Is(err, sarama.ErrUnknownTopicOrPartition) || !strings.Contains(err.Error(), "2 of 2") {
		t.Errorf("unknown topic: %v", err)
	}

	err = pub.Publish(b.topic, message.NewMessage("big", bytes.Repeat([]byte("x"), 98)))
	if err == nil || !strings.Contains(err.Error(), "MaxMessageBytes") || strings.Contains(err.Error(), "xxx") {
		t.Errorf("too large: %v", err)
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("gone"))
	msg := message.NewMessage("1", nil)
	msg.SetContext(ctx)
	if err = pub.Publish(b.topic, msg); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("ended context: %v", err)
	}

	// A router closes its publishers; this one is shared and goes on.
	if err := pub.Close(); err != nil {
		t.Error(err)
	}
	if err := pub.Publish(b.topic, message.NewMessage("1", nil)); err != nil {
		t.Errorf("after Close of the publisher: %v", err)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if err := pub.Publish(b.topic, message.NewMessage("1", nil)); !errors.Is(err, errClosed) {
		t.Errorf("after Close of the transport: %v", err)
	}
}

// The connection is made at the first Publish and tried anew at the next.
func TestPublishRecoversFromAnUnreachableBroker(t *testing.T) {
	b := newBench(t, 1)
	line := &line{}
	line.cut()
	tr := b.transport(func(c *Config) { c.Tune = line.tune })
	if err := tr.Publisher().Publish(b.topic, message.NewMessage("1", nil)); err == nil {
		t.Fatal("published without a broker")
	}
	if err := tr.Ping(b.ctx()); err == nil {
		t.Error("Ping reached a broker that is away")
	}
	line.mend()
	if err := tr.Publisher().Publish(b.topic, message.NewMessage("1", nil)); err != nil {
		t.Errorf("after the broker came back: %v", err)
	}
	if err := tr.Ping(b.ctx()); err != nil {
		t.Error(err)
	}
}

func TestEnsureTopics(t *testing.T) {
	b := newBench(t, 3)
	tr := b.transport(func(c *Config) { c.CreateTopics = false })
	missing := []string{b.topic + "_x", b.topic + "_y"}
	err := tr.EnsureTopics(b.ctx(), append(missing, b.topic)...)
	if err == nil || !strings.Contains(err.Error(), missing[0]) || !strings.Contains(err.Error(), missing[1]) || !strings.Contains(err.Error(), "CreateTopics") {
		t.Errorf("missing topics: %v", err)
	}
	tr = b.transport(func(c *Config) { c.Partitions, c.ReplicationFactor = 0, 0 })
	for range 2 {
		if err := tr.EnsureTopics(b.ctx(), append(missing, b.topic)...); err != nil {
			t.Fatalf("creating topics: %v", err)
		}
	}
	if err := tr.Publisher().Publish(missing[0], message.NewMessage("1", nil)); err != nil {
		t.Errorf("publishing to a created topic: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tr.EnsureTopics(ctx, b.topic); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// The broker stores a batch but answers with an error: the producer sends it
// again, and the broker recognises it.
func TestARetriedPublishIsStoredOnce(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	fault := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend, Count: 2})
	tr, err := New(Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, p := range []string{"a", "b"} {
		if err := tr.Publisher().Publish("t", message.NewMessage(p, []byte(p))); err != nil {
			t.Fatal(err)
		}
	}
	if fault.Hits() != 2 {
		t.Fatalf("%d answers were spoilt, want 2", fault.Hits())
	}
	client, err := sarama.NewClient(cluster.ListenAddrs(), tr.cfg.client())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if end, err := client.GetOffset("t", 0, sarama.OffsetNewest); err != nil || end != 2 {
		t.Errorf("the topic holds %d messages, %v; want 2", end, err)
	}
}
