package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Harness is how the kit gets at the transport and the store under test.
type Harness struct {
	// Name of the pair, for the report: "kafka+postgres". Required.
	Name string
	// New makes an isolated place for one case and registers its clean-up. It is
	// called by many cases at once. Required.
	New func(t testing.TB) Place
	// Config is what the applications of all cases are assembled with, such as
	// another transaction mode; cases change parts of it. Zero is the default.
	Config idem.Config
	// Cases to run; nil means all of [Cases].
	Cases []Case
	// Patience is how long a condition may take to become true before a case
	// fails; 0 means two minutes.
	Patience time.Duration
	// Parallel is how many cases run at a time; they mostly wait. 0 means 8.
	Parallel int
	// Backlog is how many messages wait in the case of the slow consumer; 0
	// means 100,000.
	Backlog int
}

// Place is a broker and a database that one case has for itself.
type Place struct {
	// Open makes what one more process on this place has; a second process
	// must find what the first one published and wrote. Required.
	Open func(t testing.TB) Process
	// Faults are what can go wrong here on purpose.
	Faults Faults
	// Strangers publish to a topic as programs do that know nothing of idem:
	// without its headers, without an ordering key. By name; nil if there are none.
	Strangers func(t testing.TB) map[string]func(topic string, body []byte)
	// Topic turns a case's name for a topic into one that is nobody else's and
	// that the broker takes. Nil puts a random word before it.
	Topic func(name string) string
}

// Process is what one process works with. The kit never closes the parts one by
// one: Close releases all that Open has made.
type Process struct {
	// Transport is required. Leases should be renewed at the latest when a
	// third of them has passed; the kit shortens them, see [World.Lease].
	Transport idem.Transport
	// Store, with its Effects; nil is the kit's store in memory, one for each
	// place. A Claim that is in another one's way should give up within a second.
	Store   idem.Store
	Effects Effects
	// Cut makes the broker unreachable for this process alone, which is not told,
	// until restore is called: its leases and sessions end, others get what it
	// has in hand. The store stays reachable. Nil: not possible.
	Cut func() (restore func())
	// Close is called when the process ends, after its application; nil is none.
	Close func()
}

// Effects are the business table in the database of a store. It has no unique
// constraint: an effect that happens twice shows.
type Effects struct {
	// Add writes a row in the handler's transaction.
	Add func(ctx context.Context, id string) error
	// Count returns how many committed rows each id has.
	Count func(ctx context.Context) (map[string]int, error)
	// Refuse runs a statement in the handler's transaction that the database
	// refuses because of its data (a broken constraint), and returns what it
	// says. Nil: this store knows no such thing.
	Refuse func(ctx context.Context) error
	// RefusalAborts: after Refuse the transaction cannot commit any more, even
	// if nobody looks at the error (as in PostgreSQL).
	RefusalAborts bool
	// SingleWriter: the database runs one writing transaction at a time.
	SingleWriter bool
}

// Faults are what a harness can do to its broker and database. A nil field skips
// the cases that need it, by its name.
type Faults struct {
	// DropConnections breaks all connections that processes of this place have
	// to the broker and to the database. They may connect again at once.
	DropConnections func(t testing.TB)
	// Outage makes broker and database unreachable until restore is called.
	Outage func(t testing.TB) (restore func())
	// ExpireLeases lets the broker deliver again, at once and to anybody, what
	// is in the hands of processes, without telling them.
	ExpireLeases func(t testing.TB)
	// Rewind sets a group without members back to the beginning of a topic.
	Rewind func(t testing.TB, topic, group string)
	// BreakCommit breaks the next COMMIT of a handler's transaction in any
	// process, so that its outcome is unknown; applied says whether it took
	// effect.
	BreakCommit func(t testing.TB, applied bool)
}
