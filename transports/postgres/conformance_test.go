package postgres

import (
	"context"
	"testing"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) queue.Backend {
		b, err := newBackend(t.Context(), Config{DSN: testenv.Postgres(t)}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		return tested{b}
	})
}

func TestWatermillSuite(t *testing.T) {
	t.Parallel()
	tr := newTransport(t, func(c *Config) { c.Logger = quiet })
	queuetest.Watermill(t, func(*testing.T) idem.Transport { return tr })
}

// tested is a backend whose database the suite may open transactions in.
type tested struct{ *backend }

func (b tested) Begin(t *testing.T) (native any, end func(commit bool) error) {
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx, func(commit bool) error {
		ctx := context.WithoutCancel(t.Context())
		if commit {
			return tx.Commit(ctx)
		}
		return tx.Rollback(ctx)
	}
}

func (tested) SingleWriter() bool { return false }
