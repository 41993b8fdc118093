package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

// TestRetentionFigures prints the figures of RETENTION.md. It asserts that
// sweeping keeps up with claiming, and needs minutes, hence the guard.
func TestRetentionFigures(t *testing.T) {
	rows, _ := strconv.Atoi(os.Getenv("IDEM_RETENTION_ROWS"))
	dsn := os.Getenv("IDEM_RETENTION_DSN")
	if rows == 0 && dsn == "" {
		t.Skip("set IDEM_RETENTION_ROWS, such as to 10000000, or IDEM_RETENTION_DSN to a database filled before")
	}
	if dsn == "" {
		dsn = testenv.Postgres(t)
	}
	s, db := open(t, postgres.Config{DSN: dsn, MaxConns: 16}), admin(t, dsn)
	report := func(what string, format string, args ...any) {
		t.Logf("| %s | %s |", what, fmt.Sprintf(format, args...))
	}
	timed := func(what, sql string) {
		start := time.Now()
		exec(t, db, sql)
		report(what, "%.1f s", time.Since(start).Seconds())
	}
	if rows > 0 {
		// Two fifths are past their retention. Keys are random, as order numbers are not
		// but provider ids are; the indexes are built afterwards to save time.
		exec(t, db, `ALTER TABLE idem_inbox DROP CONSTRAINT idem_inbox_pkey; DROP INDEX idem_inbox_expires_idx`)
		timed("fill", fmt.Sprintf(`INSERT INTO idem_inbox (consumer, key, status, fingerprint, token, attempts, message_id, source, first_seen, expires_at)
		SELECT 'billing', decode(md5(g::text), 'hex'), 'done', md5(g::text), substr(md5(g::text), 1, 22), 1, 'message-' || g, 'orders@3/' || g, now(),
			now() + (g::float8 / %[1]d - 0.4) * interval '8 days'
		FROM generate_series(1, %[1]d) g`, rows))
		timed("primary key", `SET maintenance_work_mem = '512MB'; ALTER TABLE idem_inbox ADD PRIMARY KEY (consumer, key)`)
		timed("index on expires_at", `SET maintenance_work_mem = '512MB'; CREATE INDEX idem_inbox_expires_idx ON idem_inbox (expires_at)`)
		timed("first vacuum", `VACUUM ANALYZE idem_inbox`)
		exec(t, db, `CHECKPOINT`)
	}
	size := func(what string) {
		report(what, "heap %s, primary key %s, index on expires_at %s",
			value[string](t, db, `SELECT pg_size_pretty(pg_relation_size('idem_inbox'))`),
			value[string](t, db, `SELECT pg_size_pretty(pg_relation_size('idem_inbox_pkey'))`),
			value[string](t, db, `SELECT pg_size_pretty(pg_relation_size('idem_inbox_expires_idx'))`))
	}
	size("size")

	run := rand.Text() // keys of an earlier run are there
	alone := claimFor(t, s, "alone"+run, 15*time.Second)
	report("claim and save", "%.0f/s (p50 %v, p99 %v, max %v)", alone.rate, alone.p50, alone.p99, alone.max)

	ctx, cancel := context.WithCancel(t.Context())
	var sweep figures
	var sweeping sync.WaitGroup
	sweeping.Go(func() { sweep = sweepFor(ctx, t, s) })
	during := claimFor(t, s, "during"+run, 15*time.Second)
	cancel()
	sweeping.Wait()
	report("claim and save while Sweep runs all the time", "%.0f/s (p50 %v, p99 %v, max %v)", during.rate, during.p50, during.p99, during.max)
	report("Sweep meanwhile", "%.0f rows/s; locks of a batch of 1,000 rows held p50 %v, p99 %v, max %v", sweep.rate, sweep.p50, sweep.p99, sweep.max)
	if sweep.rate < during.rate {
		t.Errorf("Sweep removes %.0f rows/s, less than the %.0f/s that come", sweep.rate, during.rate)
	}

	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	sweep = sweepFor(ctx, t, s)
	cancel()
	report("Sweep alone", "%.0f rows/s; batch p50 %v, p99 %v, max %v", sweep.rate, sweep.p50, sweep.p99, sweep.max)
	timed("vacuum afterwards", `VACUUM idem_inbox`)
	size("size after")
}

type figures struct {
	rate          float64
	p50, p99, max time.Duration
}

func summarize(n int, took time.Duration, each []time.Duration) figures {
	if len(each) == 0 {
		return figures{}
	}
	slices.Sort(each)
	at := func(p float64) time.Duration {
		return each[min(int(p*float64(len(each))), len(each)-1)].Round(100 * time.Microsecond)
	}
	return figures{float64(n) / took.Seconds(), at(0.5), at(0.99), at(1)}
}

func claimFor(t *testing.T, s idem.Store, prefix string, d time.Duration) figures {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	var n atomic.Int64
	start := time.Now()
	for range 8 {
		wg.Go(func() {
			var own []time.Duration
			for time.Since(start) < d {
				c := claim(fmt.Sprintf("%s-%x", prefix, n.Add(1)*2654435761))
				c.Retention = 168 * time.Hour
				began := time.Now()
				err := s.Do(context.Background(), func(tx idem.Tx) error {
					if _, err := tx.Claim(context.Background(), c); err != nil {
						return err
					}
					return tx.Save(context.Background(), c, done)
				})
				if err != nil {
					t.Error(err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	wg.Wait()
	return summarize(len(all), time.Since(start), all)
}

// sweepFor sweeps batch by batch until ctx ends or nothing is left.
func sweepFor(ctx context.Context, t *testing.T, s idem.Store) figures {
	var each []time.Duration
	removed, start := 0, time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		n, err := s.Sweep(context.Background(), 1000)
		if err != nil {
			t.Error(err)
			break
		}
		if n == 0 {
			break
		}
		removed += n
		each = append(each, time.Since(began))
	}
	return summarize(removed, time.Since(start), each)
}
