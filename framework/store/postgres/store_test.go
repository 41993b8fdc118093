package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/storetest"
	"github.com/idem-go/idem/internal/testenv"
)

// The specification of a store, each case on a database of its own and through
// a proxy that can break a COMMIT.
func TestStore(t *testing.T) {
	type env struct {
		dsn   string
		proxy *proxy
		admin *pgxpool.Pool
	}
	var envs sync.Map // idem.Store → env
	connect := func(t *testing.T, e env, dsn string) idem.Store {
		s, err := postgres.New(t.Context(), postgres.Config{DSN: dsn, ClaimWait: time.Second, MaxConns: 10})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		envs.Store(s, e)
		return s
	}
	of := func(s idem.Store) env {
		e, _ := envs.Load(s)
		return e.(env)
	}
	storetest.Run(t, func(t *testing.T) idem.Store {
		dsn := testenv.Postgres(t)
		p, through := newProxy(t, dsn)
		return connect(t, env{dsn, p, admin(t, dsn)}, through)
	}, storetest.Options{
		Effect: effect,
		Count: func(t *testing.T, s idem.Store, id string) int {
			return value[int](t, of(s).admin, `SELECT count(*) FROM effect WHERE id = $1`, id)
		},
		Second: func(t *testing.T, first idem.Store) idem.Store {
			return connect(t, of(first), of(first).dsn)
		},
		BreakCommit: func(t *testing.T, s idem.Store, applied bool) {
			c := cutBefore
			if applied {
				c = cutAfter
			}
			of(s).proxy.cutNext(c)
		},
	})
}

