package postgres_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/storetest"
	"github.com/idem-go/idem/internal/testenv"
)

// The specification of a store, each case in a schema of its own and through a
// proxy that can break a COMMIT.
func TestStore(t *testing.T) {
	t.Parallel()
	type env struct {
		schema, dsn string
		proxy       *proxy
	}
	database := testenv.Postgres(t)
	boss := admin(t, database)
	var envs sync.Map // idem.Store → env
	var cases atomic.Int32
	connect := func(t *testing.T, e env, dsn string) idem.Store {
		s, err := postgres.New(t.Context(), postgres.Config{DSN: dsn, Schema: e.schema, ClaimWait: time.Second, MaxConns: 10, Logger: slog.New(slog.DiscardHandler)})
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
		e := env{schema: fmt.Sprint("Case-", cases.Add(1))} // an identifier that needs its quotes
		exec(t, boss, fmt.Sprintf(`CREATE SCHEMA %q; CREATE TABLE %[1]q.effect (id text NOT NULL)`, e.schema))
		e.dsn = database + "&search_path=" + url.QueryEscape(fmt.Sprintf("%q", e.schema))
		var through string
		e.proxy, through = newProxy(t, e.dsn)
		return connect(t, e, through)
	}, storetest.Options{
		Effect: effect,
		Count: func(t *testing.T, s idem.Store, id string) int {
			return value[int](t, boss, fmt.Sprintf(`SELECT count(*) FROM %q.effect WHERE id = $1`, of(s).schema), id)
		},
		Second: func(t *testing.T, first idem.Store) idem.Store { return connect(t, of(first), of(first).dsn) },
		BreakCommit: func(t *testing.T, s idem.Store, applied bool) {
			c := cutBefore
			if applied {
				c = cutAfter
			}
			of(s).proxy.cutNext(c)
		},
	})
}
