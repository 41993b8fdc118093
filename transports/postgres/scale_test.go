package postgres

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
)

// Four consumers do at least 3.5 times what one does when a handler takes 5
// ms. A ratio of times needs a quiet machine, so this runs on demand:
//
//	IDEM_MEASURE=1 go test -run Scale ./transports/postgres
//
// TestConsumersWorkInParallel proves the concurrency without a clock.
func TestScale(t *testing.T) {
	if os.Getenv("IDEM_MEASURE") == "" {
		t.Skip("measures time: set IDEM_MEASURE=1 on a quiet machine")
	}
	one, four := throughput(t, 1), throughput(t, 4)
	t.Logf("one consumer %.0f/s, four %.0f/s: %.2f times", one, four, four/one)
	if four < 3.5*one {
		t.Errorf("four consumers do %.2f times what one does, want 3.5", four/one)
	}
}

// throughput returns how many messages a second that many consumers handle.
func throughput(t *testing.T, consumers int) float64 {
	const each = 300
	dsn := testenv.Postgres(t)
	transports := make([]*Transport, consumers)
	for i := range transports {
		transports[i] = newTransport(t, func(c *Config) { c.DSN = dsn })
	}
	first := transports[0].b
	if err := first.Register(t.Context(), topic, group); err != nil {
		t.Fatal(err)
	}
	total := consumers * each
	publish(t, first, many(total, "m", "")...)
	done := make(chan struct{}, total)
	begun := time.Now()
	for _, tr := range transports {
		ch := subscribe(t, tr, idem.SubscriberConfig{Group: group})
		go func() {
			for {
				select {
				case m := <-ch:
					time.Sleep(5 * time.Millisecond) // the handler's work
					m.Ack()
					done <- struct{}{}
				case <-t.Context().Done():
					return
				}
			}
		}()
	}
	for range total {
		<-done
	}
	return float64(total) / time.Since(begun).Seconds()
}

// BenchmarkPublish is one message per transaction, from as many goroutines as
// the benchmark has processors.
func BenchmarkPublish(b *testing.B) {
	q := newQueue(b)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if err := q.Publish(b.Context(), topic, many(1, strconv.Itoa(i), "")); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkClaimAck takes 50 messages at a time.
func BenchmarkClaimAck(b *testing.B) {
	for _, ordered := range []bool{false, true} {
		b.Run("ordered="+strconv.FormatBool(ordered), func(b *testing.B) {
			q := newQueue(b)
			msgs := many(50*b.N, "m", "")
			for i := range msgs {
				msgs[i].Key = strconv.AppendInt(nil, int64(i), 10)
			}
			publish(b, q, msgs...)
			b.ResetTimer()
			for range b.N {
				ack(b, q, claim(b, q, 50, ordered)...)
			}
			b.ReportMetric(float64(50*b.N)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}
