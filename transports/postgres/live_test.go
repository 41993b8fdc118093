package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
)

// Another process is woken: the poll of this test comes an hour later.
func TestWakeUpAcrossProcesses(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	there := newTransport(t, slowly, func(c *Config) { c.DSN = dsn })
	here := newTransport(t, slowly, func(c *Config) { c.DSN = dsn })
	ch := subscribe(t, here, idem.SubscriberConfig{})
	warm := func() { // until the listener has connected
		if err := there.Publisher().Publish(topic, newMessage("warm")); err != nil {
			t.Fatal(err)
		}
		receive(t, ch)
	}
	eventually(t, "the listener", func() bool { return listeners(t, here.b) == 1 })
	warm()

	var took []time.Duration
	for i := range 11 {
		drained(t, here, group)
		begun := time.Now()
		if err := there.Publisher().Publish(topic, newMessage(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
		receive(t, ch)
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	median := took[len(took)/2]
	t.Logf("median %v, longest %v", median, took[len(took)-1])
	if median > 50*time.Millisecond {
		t.Errorf("median of the wake-up is %v, want under 50ms", median)
	}
}

func listeners(t *testing.T, b *backend) (n int) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Every connection is killed again and again, the one that listens included:
// everything still arrives.
func TestConnectionsKilled(t *testing.T) {
	t.Parallel()
	tr := newTransport(t, func(c *Config) { c.Logger = quiet })
	// A claim whose answer is lost holds its messages for a lease.
	ch := subscribe(t, tr, idem.SubscriberConfig{Concurrency: 4, Ordered: true, Lease: time.Second})
	killer := connect(t, tr.b.pool)
	const n = 60
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for i := range n {
			m := many(1, fmt.Sprint(i, "-"), fmt.Sprint(i%3))
			for t.Context().Err() == nil && tr.b.Publish(t.Context(), topic, m) != nil {
				continue // its connection died
			}
		}
	})
	seen := map[string]bool{}
	for len(seen) < n {
		seen[receive(t, ch)] = true
		if len(seen)%10 == 0 {
			exec(t, killer, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		}
	}
	publisher.Wait()
	eventually(t, "a new listener", func() bool {
		n := 0
		return killer.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&n) == nil && n == 1
	})
}

// As many handlers run at a time as there are consumers times concurrency.
func TestConsumersWorkInParallel(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	const consumers, each = 4, 5
	arrived, release := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	for i := range consumers {
		tr := newTransport(t, func(c *Config) { c.DSN = dsn })
		ch := subscribe(t, tr, idem.SubscriberConfig{Concurrency: each})
		if i == 0 {
			publish(t, tr.b, many(consumers*each, "m", "")...)
		}
		for range each {
			wait.Go(func() {
				m := <-ch
				arrived <- struct{}{}
				<-release
				m.Ack()
			})
		}
	}
	deadline := time.After(patience)
	for n := range consumers * each {
		select {
		case <-arrived:
		case <-deadline:
			t.Errorf("%d handlers run at a time, want %d", n, consumers*each)
			for range consumers*each - n {
				go func() { <-arrived }()
			}
		}
	}
	close(release)
	wait.Wait()
}
