package matrix

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/transports/kafka"
)

// realKafka is the server that the environment names.
func realKafka(t testing.TB) []string {
	t.Helper()
	brokers, isReal := testenv.Kafka(t)
	if !isReal {
		t.Skip("needs Kafka: set IDEM_TEST_KAFKA (scripts/brokers.sh up)")
	}
	return brokers
}

// fakeKafka is a stand-in in this process.
func fakeKafka(t testing.TB) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	must(t, err)
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()
}

// partitions of a topic.
const partitions = 4

type kafkaCluster struct{ brokers []string }

// process adds the transport, with a line of its own to the brokers.
func (k kafkaCluster) process(t testing.TB, p conformance.Process) conformance.Process {
	l := &line{}
	tr, err := kafka.New(kafka.Config{
		Brokers: k.brokers, CreateTopics: true, Partitions: partitions, ReplicationFactor: 1,
		SessionTimeout: 2 * time.Second, Logger: quiet.Logger, Tune: l.tune,
	})
	must(t, err)
	closeStore := p.Close
	p.Transport, p.Cut, p.Close = tr, l.cut, func() {
		_ = tr.Close() // fails where the line is cut
		closeStore()
	}
	return p
}

// rewind sets a group of nobody back to the beginning of the topic.
func (k kafkaCluster) rewind(t testing.TB, topic, group string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.brokers...), kgo.MaxVersions(kversion.V2_8_0())) // later ones want topic ids
	must(t, err)
	defer client.Close()
	commit := kmsg.NewOffsetCommitRequestTopic()
	commit.Topic = topic
	for i := range partitions {
		partition := kmsg.NewOffsetCommitRequestTopicPartition()
		partition.Partition = int32(i)
		commit.Partitions = append(commit.Partitions, partition)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Topics = group, []kmsg.OffsetCommitRequestTopic{commit}
	resp, err := req.RequestWith(t.Context(), client)
	must(t, err)
	for _, partition := range resp.Topics[0].Partitions {
		if partition.ErrorCode != 0 {
			t.Fatalf("rewinding partition %d: error code %d", partition.Partition, partition.ErrorCode)
		}
	}
}

// line is the network between one process and the brokers.
type line struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (l *line) tune(s *sarama.Config) {
	s.Net.Proxy.Enable, s.Net.Proxy.Dialer = true, l
	s.Metadata.Retry.Max, s.Metadata.Retry.Backoff = 1, 50*time.Millisecond
}

// Dial implements proxy.Dialer.
func (l *line) Dial(network, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("the line is cut")
	}
	c, err := net.DialTimeout(network, addr, 5*time.Second)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

// cut is as if the process had crashed: it says no good-bye and commits nothing
// more.
func (l *line) cut() (restore func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.down = false
	}
}
