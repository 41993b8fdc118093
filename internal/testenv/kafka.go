package testenv

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Kafka returns the addresses of a Kafka broker and whether it is a real one. Without one it is an
// in-process stand-in that ends with the test, unless IDEM_REQUIRE names "kafka": then the test
// fails. Both refuse topics that nobody created and let group sessions be as short as one second.
//
// The real broker is shared by all tests: use [Topic] for topics and group names.
func Kafka(t testing.TB) (brokers []string, real bool) {
	t.Helper()
	if addrs := os.Getenv(envKafka); addrs != "" {
		brokers = strings.Split(addrs, ",")
		dialer := net.Dialer{Timeout: 5 * time.Second}
		conn, err := dialer.DialContext(t.Context(), "tcp", brokers[0])
		if err != nil {
			t.Fatalf("%s: %v (is it running? scripts/brokers.sh status)", envKafka, err)
		}
		_ = conn.Close()
		return brokers, true
	}
	if required("kafka") {
		t.Fatalf("needs Kafka, which %s requires: set %s (scripts/brokers.sh up)", envRequire, envKafka)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	if err != nil {
		t.Fatalf("starting kfake: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs(), false
}
