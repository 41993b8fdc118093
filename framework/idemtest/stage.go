package idemtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
)

// subject is the handler under test without its type parameters.
type subject struct {
	op       idem.Operation
	external bool
	contract contract
	open     func(*testing.T) (*World, probes, register)
}

// register puts the handler on an application, watched by the stage.
type register func(*idem.App, idem.Operation, *stage) error

// stage is one subtest: a world, the application that runs in it, and what it
// has seen so far.
type stage struct {
	*testing.T
	subject
	probes
	world    *World
	register register

	// To be set before start.
	fault     fault
	before    func(*idem.Attempt) // each delivery, before anything is decided
	transport idem.Transport
	tolerant  bool // errors of the handler are part of the plan

	mu      sync.Mutex
	changed chan struct{}
	runs    []*run
	ends    []ending
	due     map[string]int // deliveries by message id that must come to an end
	answers []idem.CallOutcome
	sent    map[string]Message
	started bool
}

// ending is how one delivery ended.
type ending struct {
	message, key string
	outcome      idem.Outcome
	class        idem.Class
	err          error
}

// final reports whether the message has come to its end.
func (e ending) final() bool {
	switch e.outcome.Kind {
	case idem.Done, idem.Duplicate, idem.Dead, idem.Discard:
		return true
	}
	return false
}

// errMade is at the bottom of every failure that the test makes.
var errMade = errors.New("idemtest: a failure made by the test")

// made also recognises what is left of a failure after a panic: its text.
func made(err error) bool { return strings.Contains(err.Error(), errMade.Error()) }

// newStage opens a world and prepares an application in it.
func newStage(t *testing.T, sub subject) *stage {
	t.Helper()
	w, p, r := sub.open(t)
	s := &stage{
		T: t, subject: sub, probes: p, world: w, register: r, transport: w.parts.Transport,
		changed: make(chan struct{}), due: map[string]int{}, sent: map[string]Message{},
	}
	// What the operation says of speed is no promise; what it says of safety stays.
	s.op.Policy.MaxAttempts = 5
	s.op.Policy.Quick = -1
	s.op.Policy.Backoff = idem.Backoff{Base: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	s.op.RatePerSecond = 0
	return s
}

// start runs the application until the test ends.
func (s *stage) start() {
	s.Helper()
	s.started = true
	log := s.world.log.logger()
	store := s.world.parts.Store
	relay, err := wiring.NewRelay(idem.Config{}, wiring.Options{}, store, s.transport, log)
	if err != nil {
		s.Fatal(err)
	}
	breakers := middleware.NewBreakers(map[string]middleware.BreakerSettings{s.op.Dependency: {Failures: 1000}})
	chain := middleware.Chain(middleware.Options{Breakers: breakers})
	app, err := idem.NewApp(idem.AppConfig{
		Config:    idem.Config{DrainTimeout: 5 * time.Second},
		Transport: s.transport, Store: store, Logger: log, Services: []idem.Service{relay},
		Chain: func(c *idem.Consumer) ([]message.HandlerMiddleware, error) {
			parts, err := chain(c)
			return append([]message.HandlerMiddleware{s.watch(c)}, parts...), err
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := s.register(app, s.op, s); err != nil {
		s.Fatalf("the handler could not be registered: %v", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !s.Failed() {
			s.Errorf("the application did not end cleanly: %v", err)
		}
		if s.Failed() {
			s.world.log.show(s.T)
		}
	})
	select {
	case <-app.Running():
	case err := <-ended:
		ended <- err
		s.Fatalf("the application did not start: %v", err)
	}
}

// watch is around the whole chain: it sees every delivery and its end.
func (s *stage) watch(c *idem.Consumer) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			a := c.Attempt(msg)
			if s.before != nil {
				s.before(a)
			}
			out, err := next(msg)
			s.note(func() {
				s.ends = append(s.ends, ending{message: a.MessageID, key: a.Key, outcome: a.Outcome, class: a.Class, err: a.Err})
			})
			return out, err
		}
	}
}

// note changes what the stage has seen and wakes whoever waits for it.
func (s *stage) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stage) begin(p phase, info idem.Info) *run {
	here, _ := goroutine()
	r := &run{phase: p, key: info.Key, message: info.ID, n: 1, goroutine: here, returned: make(chan struct{})}
	s.note(func() {
		for _, other := range s.runs {
			if other.phase == p && other.key == r.key {
				r.n++
			}
		}
		s.runs = append(s.runs, r)
	})
	return r
}

func (s *stage) said(o idem.CallOutcome) { s.note(func() { s.answers = append(s.answers, o) }) }

// publish sends a message under an id, without an ordering key.
func (s *stage) publish(m Message, ids ...string) {
	s.Helper()
	msgs := make([]*message.Message, len(ids))
	s.mu.Lock()
	for i, id := range ids {
		s.due[id]++
		s.sent[id] = m
		msgs[i] = message.NewMessage(id, m.body(s.T))
		msgs[i].SetContext(idem.WithEnvelope(context.WithoutCancel(s.Context()), idem.Envelope{Headers: m.Headers}))
	}
	s.mu.Unlock()
	if !s.started {
		s.start()
	}
	if err := s.transport.Publisher().Publish(s.op.Topic, msgs...); err != nil {
		s.Fatalf("publishing to %q failed: %v", s.op.Topic, err)
	}
}

// deliver publishes and waits for the end of everything that was published.
func (s *stage) deliver(m Message, ids ...string) {
	s.Helper()
	s.publish(m, ids...)
	s.settled()
}

// settled waits until every message that was published has come to its end.
func (s *stage) settled() {
	s.Helper()
	s.await("every message has come to an end", func() bool {
		finals := map[string]int{}
		for _, e := range s.ends {
			if e.final() {
				finals[e.message]++
			}
		}
		for id, n := range s.due {
			if finals[id] < n {
				return false
			}
		}
		return true
	})
}

// await waits until cond, which sees a stage at rest, holds. It ends the test
// when that takes too long, and as soon as the handler fails where nobody asked
// it to.
func (s *stage) await(what string, cond func() bool) {
	s.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		ok, changed, trouble := cond(), s.changed, s.trouble()
		s.mu.Unlock()
		switch {
		case ok:
			return
		case trouble != "":
			s.Fatal(trouble + s.remarks())
		}
		select {
		case <-changed:
		case <-deadline.C:
			s.mu.Lock()
			story := s.story()
			s.mu.Unlock()
			s.Fatalf("waited %v in vain until %s; so far: %s%s", patience, what, story, s.remarks())
		}
	}
}

// trouble tells of the first delivery that failed by the handler's own fault.
func (s *stage) trouble() string {
	for _, e := range s.ends {
		if e.outcome.Kind == idem.Pause {
			return s.failure(e)
		}
		if s.tolerant {
			continue
		}
		if e.err == nil || made(e.err) {
			continue
		}
		switch e.class {
		case idem.ClassTransient, idem.ClassBug, idem.ClassPermanent, idem.ClassIgnorable:
			if !errors.Is(e.err, idem.ErrKeyReuse) {
				return s.failure(e)
			}
		}
	}
	return ""
}

func (s *stage) failure(e ending) string {
	if errors.Is(e.err, idem.ErrNotImplemented) {
		return "the handler is not written yet: it returns idem.ErrNotImplemented"
	}
	return fmt.Sprintf("the handler failed on %s, a valid message for which it is to succeed, with an error of class %s: %v", e.message, e.class, e.err)
}

// story lists what became of each delivery so far.
func (s *stage) story() string {
	if len(s.ends) == 0 {
		return "no delivery has ended"
	}
	const most = 12
	var parts []string
	for _, e := range s.ends[:min(len(s.ends), most)] {
		part := e.message + " → " + string(e.outcome.Kind)
		if e.err != nil {
			part += fmt.Sprintf(" (%s: %s)", e.class, idem.Summary(e.err))
		}
		parts = append(parts, part)
	}
	if more := len(s.ends) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func (s *stage) remarks() string {
	outside, _ := s.world.db.remarks()
	return outside
}
