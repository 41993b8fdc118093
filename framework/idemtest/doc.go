// Package idemtest proves that a handler's effect happens once, whatever becomes
// of its messages: delivered twice, raced by 32 copies, rolled back half-way, given
// up and sent back, and so on. [Gold] plays it all on a real queue and a real
// store with the whole chain of middleware; nothing is mocked.
//
// A test of a handler is one line and a [Fixture], which says what Gold cannot
// know: how the handler is built, what its messages look like, and how often an
// effect is there. The example shows one. idemgen writes the line for each
// handler of a contract, and the fixture's beginning.
//
// Failures tell what was delivered, what the probe counted and what that usually
// means. The subtests have stable names, so one of them alone is
//
//	go test -run 'TestInvoiceGold/retry' ./handlers
//
// # What it can and cannot see
//
// The effect is what the probe says it is, nothing else is looked at. So a
// probe must count rows (or the calls that a stand-in for a third party got)
// rather than ask whether there are any, and the business tables of the test
// need the constraints of the real ones and no more: a unique constraint hides
// what a missing guard does.
//
// A handler reaches the tables through [World.DB], or through the TxFrom of the
// store's package. World.DB is an [idemsql.DB] that also watches: it notices a
// statement that comes after the handler has returned, and a write outside the
// unit of work, which on SQLite would wait for the handler itself.
//
// # PostgreSQL
//
// [SQLite] needs no server, so it is what everybody runs on every change. SQLite
// has one writer, though: transactions never overlap there. Let CI repeat the
// same tests on the database of production, by a switch in the one function
// that makes worlds:
//
//	func newWorld(t *testing.T) *idemtest.World {
//		w := idemtest.SQLite(t)
//		if server := os.Getenv("TEST_POSTGRES"); server != "" {
//			w = idemtest.Open(t, func(ctx context.Context) (wiring.Parts, idemsql.DB, func(), error) {
//				cfg := idem.Config{Transport: "postgres"}
//				cfg.Postgres.DSN = idem.DSN(freshDatabase(t, server))
//				p, closeAll, err := postgres.Build(ctx, cfg, wiring.Options{})
//				if err != nil {
//					return wiring.Parts{}, nil, nil, err
//				}
//				return p.Parts, p.SQL, closeAll, nil
//			})
//		}
//		…
//	}
//
// where freshDatabase runs CREATE DATABASE with a name of its own, DROP DATABASE
// in t.Cleanup, and returns the connection string: worlds must not share a
// database. A job of GitHub Actions needs a service and the variable:
//
//	services:
//	  postgres:
//	    image: postgres:17
//	    env: {POSTGRES_PASSWORD: test}
//	    ports: ["5432:5432"]
//	    options: --health-cmd pg_isready --health-interval 2s --health-retries 15
//	steps:
//	  - run: go test -race ./handlers/...
//	    env: {TEST_POSTGRES: "postgres://postgres:test@localhost:5432/postgres"}
//
// All subtests of a handler take about a second on SQLite, two to four on
// PostgreSQL, and some five times that with -race.
package idemtest
