package idemtest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/sqlite"
)

// World is one isolated application: a queue and a store in a fresh database,
// which end with the test. Make one for each subtest.
type World struct {
	parts wiring.Parts
	db    *statements
	log   *logBook
}

// SQLite returns a world in a SQLite file of its own, with the queue in it.
func SQLite(t *testing.T) *World {
	t.Helper()
	log := new(logBook)
	var cfg idem.Config
	cfg.SQLite.Path = filepath.Join(t.TempDir(), "idem.db")
	cfg.SQLite.Synchronous = "normal" // nobody pulls the plug
	return open(t, log, func(ctx context.Context) (wiring.Parts, idemsql.DB, func(), error) {
		p, closeAll, err := sqlite.Build(ctx, cfg, wiring.Options{Logger: log.logger()})
		if err != nil {
			return wiring.Parts{}, nil, nil, err
		}
		return p.Parts, p.SQL, closeAll, nil
	})
}

// Open returns a world on what build makes: any other wiring, with an empty
// database and topics of its own. The function that build returns is called
// when the test ends. The consumer's name and topics come from the operation
// under test, so two worlds must not share a broker and a database.
//
// What the wiring's configuration says of consumers, breakers and errors does
// not count: the operation under test is all that is registered.
func Open(t *testing.T, build func(ctx context.Context) (wiring.Parts, idemsql.DB, func(), error)) *World {
	t.Helper()
	return open(t, new(logBook), build)
}

func open(t *testing.T, log *logBook, build func(ctx context.Context) (wiring.Parts, idemsql.DB, func(), error)) *World {
	t.Helper()
	parts, db, closeAll, err := build(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatalf("the world did not open: %v", err)
	}
	if closeAll != nil {
		t.Cleanup(closeAll)
	}
	_, oneWriter := parts.Store.(*sqldb.Store)
	return &World{parts: parts, db: newStatements(db, oneWriter), log: log}
}

// DB is the business database, for handlers, probes and the tables they need; nil
// if the wiring has none. It watches what handlers do with it: a statement that
// comes from a handler which has returned already fails the test.
func (w *World) DB() idemsql.DB {
	if w.db.db == nil {
		return nil
	}
	return w.db
}
