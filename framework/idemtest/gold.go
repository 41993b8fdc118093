package idemtest

import (
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

// Gold proves that the effect of a handler happens once, whatever becomes of its
// messages. Each subtest has a world and a fixture of its own:
//
//	duplicate   delivered twice, and sent twice by the producer
//	race        32 copies at the same time
//	retry       the first run is rolled back after the handler has done its work
//	panic       the same by a panic
//	database    the database refuses the statements of the first run
//	permanent   given up: a dead letter with the message unchanged, and no effect
//	replay      the dead letter is sent back
//	keyreuse    another message under the same key
//	lostack     the process dies between commit and acknowledgement
//	invalid     not JSON, members missing, members of another type
//	expiry      the same message before and after its key is forgotten
//
// The operation is used as it is, except for what only takes time: the delays
// between retries, the number of attempts and the rate. In the subtests named
// race and expiry also the concurrency and the retention.
func Gold[T, H any](t *testing.T, world func(*testing.T) *World, op idem.Operation, fixture func(*testing.T, *World) Fixture[H], handler func(H) idem.Handler[T]) {
	t.Helper()
	gold(t, subject{op: op, contract: contractOf[T](), open: func(t *testing.T) (*World, probes, register) {
		t.Helper()
		w := world(t)
		f := fixture(t, w)
		return w, f.probes(t), func(app *idem.App, op idem.Operation, s *stage) error {
			return idem.Register(app, op, idem.Handler[T](watched[T]{handler(f.Handler), s}))
		}
	}})
}

// GoldBatch is [Gold] for a batch handler.
func GoldBatch[T, H any](t *testing.T, world func(*testing.T) *World, op idem.Operation, fixture func(*testing.T, *World) Fixture[H], handler func(H) idem.BatchHandler[T]) {
	t.Helper()
	gold(t, subject{op: op, contract: contractOf[T](), open: func(t *testing.T) (*World, probes, register) {
		t.Helper()
		w := world(t)
		f := fixture(t, w)
		return w, f.probes(t), func(app *idem.App, op idem.Operation, s *stage) error {
			return idem.RegisterBatch(app, op, idem.BatchHandler[T](watchedBatch[T]{handler(f.Handler), s}))
		}
	}})
}

// GoldExternal is [Gold] for an external handler: Call must not be made twice.
// retry, panic and database let Apply fail, and retry also a call that has not
// been made. One subtest more:
//
//	lostresult  the call was made and its result is lost
func GoldExternal[T, R, H any](t *testing.T, world func(*testing.T) *World, op idem.Operation, fixture func(*testing.T, *World) Fixture[H], handler func(H) idem.External[T, R]) {
	t.Helper()
	gold(t, subject{op: op, external: true, contract: contractOf[T](), open: func(t *testing.T) (*World, probes, register) {
		t.Helper()
		w := world(t)
		f := fixture(t, w)
		return w, f.probes(t), func(app *idem.App, op idem.Operation, s *stage) error {
			return idem.RegisterExternal(app, op, watchExternal(handler(f.Handler), s))
		}
	}})
}

func gold(t *testing.T, sub subject) {
	t.Helper()
	if err := sub.op.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, sc := range []struct {
		name string
		play func(*stage)
		only bool // for external handlers
	}{
		{"duplicate", (*stage).duplicate, false},
		{"race", (*stage).race, false},
		{"retry", (*stage).retry, false},
		{"panic", (*stage).panics, false},
		{"database", (*stage).database, false},
		{"permanent", (*stage).permanent, false},
		{"replay", (*stage).replay, false},
		{"keyreuse", (*stage).keyReuse, false},
		{"lostack", (*stage).lostAck, false},
		{"lostresult", (*stage).lostResult, true},
		{"invalid", (*stage).invalid, false},
		{"expiry", (*stage).expiry, false},
	} {
		if sc.only && !sub.external {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			s := newStage(t, sub)
			defer s.finish()
			sc.play(s)
		})
	}
}

// main is the part of the handler that must not run twice.
func (s *stage) main() phase {
	if s.external {
		return calling
	}
	return handling
}

// local is the part of the handler that runs in a unit of work.
func (s *stage) local() phase {
	if s.external {
		return applying
	}
	return handling
}
