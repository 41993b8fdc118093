package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
)

// bench is a topic of its own on the real broker, or on the stand-in.
type bench struct {
	*testing.T
	brokers []string
	real    bool
	topic   string
	cfg     Config
}

func newBench(t *testing.T, partitions int32) *bench {
	t.Helper()
	t.Parallel()
	b := &bench{T: t, topic: testenv.Topic(t)}
	b.brokers, b.real = testenv.Kafka(t)
	b.cfg = Config{
		Brokers: b.brokers, CreateTopics: true, Partitions: partitions, ReplicationFactor: 1,
		SessionTimeout: 2 * time.Second, RebalanceTimeout: 4 * time.Second, CloseTimeout: 5 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	}
	if err := b.transport(nil).EnsureTopics(b.ctx(), b.topic); err != nil {
		t.Fatal(err)
	}
	return b
}

// ctx bounds one step.
func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	b.Cleanup(cancel)
	return ctx
}

func (b *bench) transport(change func(*Config)) *Transport {
	b.Helper()
	cfg := b.cfg
	if change != nil {
		change(&cfg)
	}
	tr, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := tr.Close(); err != nil {
			b.Errorf("closing the transport: %v", err)
		}
	})
	return tr
}

// publish sends messages with the given payloads, each as "key=value" or "value".
func (b *bench) publish(partition int32, values ...string) {
	b.Helper()
	cfg := b.cfg.withDefaults().producer()
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	p, err := sarama.NewSyncProducer(b.brokers, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for _, v := range values {
		m := &sarama.ProducerMessage{Topic: b.topic, Partition: partition, Value: sarama.StringEncoder(v)}
		if _, _, err := p.SendMessage(m); err != nil {
			b.Fatal(err)
		}
	}
}

// member is one subscriber with one subscription.
type member struct {
	message.Subscriber
	out <-chan *message.Message
}

func (b *bench) join(tr *Transport, group idem.SubscriberConfig) member {
	b.Helper()
	if group.Group == "" {
		group.Group = b.topic
	}
	sub, err := tr.Subscriber(group)
	if err != nil {
		b.Fatal(err)
	}
	out, err := sub.Subscribe(context.Background(), b.topic)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := sub.Close(); err != nil {
			b.Errorf("closing the subscriber: %v", err)
		}
	})
	return member{sub, out}
}

// receive returns the next message, or fails.
func (b *bench) receive(m member) *message.Message {
	b.Helper()
	select {
	case msg, ok := <-m.out:
		if !ok {
			b.Fatal("the subscription ended")
		}
		return msg
	case <-b.ctx().Done():
		b.Fatal("no message")
	}
	return nil
}

// handle runs a handler for each message of a member until its channel closes.
func (b *bench) handle(m member, handler func(*message.Message)) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for msg := range m.out {
			wg.Go(func() { handler(msg) })
		}
	})
	b.Cleanup(func() {
		_ = m.Close()
		wg.Wait()
	})
}

// eventually waits until check reports "", which is what is still missing.
func (b *bench) eventually(check func() string) {
	b.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for missing := check(); missing != ""; missing = check() {
		if time.Now().After(deadline) {
			b.Fatal(missing)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// committed returns the group's committed offset of each partition.
func (b *bench) committed() map[int32]int64 {
	b.Helper()
	cfg := b.cfg.withDefaults().client()
	cfg.Metadata.Full = true
	admin, err := sarama.NewClusterAdmin(b.brokers, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer admin.Close()
	resp, err := admin.ListConsumerGroupOffsets(b.topic, nil)
	if errors.Is(err, sarama.ErrGroupIDNotFound) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	out := map[int32]int64{}
	for p, block := range resp.Blocks[b.topic] {
		if block.Offset >= 0 {
			out[p] = block.Offset
		}
	}
	return out
}

func (b *bench) wantCommitted(want map[int32]int64) {
	b.Helper()
	b.eventually(func() string {
		if got := b.committed(); !maps.Equal(got, want) {
			return fmt.Sprintf("committed %v, want %v", got, want)
		}
		return ""
	})
}

// tally counts by payload.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(m *message.Message) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[string(m.Payload)]++
	return c.counts[string(m.Payload)]
}

func (c *tally) get() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return out
}
