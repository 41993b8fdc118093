package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

// consumer has a handler that writes one business row and emits one event.
func consumer(t *testing.T, s idem.Store) *idem.Consumer {
	t.Helper()
	e, err := idem.NewEngine(s, nil, idem.Classifier{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	op := idem.Operation{Name: "shop", Topic: "orders", Key: idem.KeyRecipe{Parts: []idem.KeyPart{{Header: "id"}}}}
	c, err := idem.NewConsumer(e, op, idem.HandlerFunc[[]byte](func(ctx context.Context, m idem.Message[[]byte]) error {
		if _, err := postgres.TxFrom(ctx).Exec(ctx, `INSERT INTO effect VALUES ($1)`, m.Key); err != nil {
			return err
		}
		return idem.Emit(ctx, idem.Event{Topic: "invoices", Payload: m.Payload})
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func deliver(c *idem.Consumer) error {
	msg := message.NewMessage("m", []byte("{}"))
	msg.Metadata.Set("id", "k")
	return c.Process(msg)
}

// The whole path of a message, with its COMMIT's answer lost on the way.
func TestEngineResolvesAnUnknownCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		at      cut
		settled bool // by the first delivery
	}{{"answered", cutNone, true}, {"committed", cutAfter, true}, {"not committed", cutBefore, false}} {
		t.Run(c.name, func(t *testing.T) {
			dsn := testenv.Postgres(t)
			p, through := newProxy(t, dsn)
			s, db := open(t, postgres.Config{DSN: through, ClaimWait: 10 * time.Second}), admin(t, dsn)
			shop := consumer(t, s)
			p.cutNext(c.at)
			if err := deliver(shop); (err == nil) != c.settled || err != nil && !errors.Is(err, idem.ErrStore) {
				t.Fatalf("first delivery: %v", err)
			}
			for range 2 {
				if err := deliver(shop); err != nil {
					t.Fatalf("redelivery: %v", err)
				}
			}
			if n := value[int](t, db, `SELECT count(*) FROM effect`); n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
			if n, _, err := s.OutboxDepth(t.Context()); n != 1 || err != nil {
				t.Errorf("%d events (%v), want 1", n, err)
			}
		})
	}
}

func TestTxFromOutsideAHandler(t *testing.T) {
	t.Parallel()
	defer func() {
		if r, _ := recover().(string); !strings.Contains(r, "outside a handler") {
			t.Fatalf("recovered %q", r)
		}
	}()
	postgres.TxFrom(t.Context())
}
