package sqldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// One message: claim, save, commit.
func BenchmarkDo(b *testing.B) {
	s, _ := fresh(b)
	i := 0
	for b.Loop() {
		i++
		c := claim(fmt.Sprint("key-", i))
		err := s.Do(b.Context(), func(tx idem.Tx) error {
			if _, err := tx.Claim(b.Context(), c); err != nil {
				return err
			}
			return tx.Save(b.Context(), c, idem.Update{Status: idem.StatusDone, Attempts: 1})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// One batch of 100 of a million expired records.
func BenchmarkSweepOfAMillion(b *testing.B) {
	s, db := fresh(b)
	fillInbox(b, db, 1_000_000)
	b.ResetTimer()
	var worst time.Duration
	for range b.N {
		start := time.Now()
		if _, err := s.Sweep(b.Context(), 100); err != nil {
			b.Fatal(err)
		}
		worst = max(worst, time.Since(start))
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
}

// Leases of 100 rows and their removal, with a backlog of 100,000.
func BenchmarkLease(b *testing.B) {
	for name, row := range map[string]string{
		"without key":                    "NULL, 1, 0",
		"a key each":                     "CAST('k' || n AS BLOB), 1, 0",
		"one key":                        "x'01', 1, 0",
		"one key, its first row delayed": "x'01', 1, iif(n = 1, 9e15, 0)",
		"all postponed":                  "NULL, 1, 9e15",
		"all delayed":                    "NULL, 9e15, 0",
	} {
		b.Run(name, func(b *testing.B) {
			s, db := fresh(b)
			exec(b, db, `INSERT INTO idem_outbox (id, topic, headers, created_at, payload, key, due_at, held_until)
				WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 100000)
				SELECT hex(randomblob(16)), 'orders', x'', 1, randomblob(300), `+row+` FROM r`)
			b.ResetTimer()
			for range b.N {
				rows, err := s.LeaseOutbox(b.Context(), 100, time.Minute)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Published(b.Context(), rows...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
