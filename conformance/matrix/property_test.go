package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/idem-go/idem/conformance"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	memorytransport "github.com/idem-go/idem/transports/memory"
	"github.com/idem-go/idem/wiring"
)

// move is one thing that happens to a system.
type move struct {
	kind string
	n    int // which event, or how much
}

func (m move) String() string { return fmt.Sprintf("%s %d", m.kind, m.n) }

// moves are what can happen. Events are few, so that they meet.
func moves() *rapid.Generator[move] {
	return rapid.Custom(func(t *rapid.T) move {
		kind := rapid.SampledFrom([]string{"publish", "publish", "publish", "fail", "doom", "join", "leave", "crash", "sleep"}).Draw(t, "kind")
		return move{kind, rapid.IntRange(0, 7).Draw(t, "n")}
	})
}

// Whatever happens in whatever order, in the end each published event has its
// effect once, or is one dead letter if it can never succeed. A schedule that
// shows otherwise is made as short as it can be and printed with its seed.
func TestAnySchedule(t *testing.T) {
	for _, mode := range []idem.TransactionMode{idem.TransactionOwn, idem.TransactionGroup} {
		t.Run(string(mode), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				schedule := rapid.SliceOfN(moves(), 1, 40).Draw(rt, "schedule")
				if err := happen(schedule, mode); err != nil {
					rt.Fatalf("%v\nschedule: %v", err, schedule)
				}
			})
		})
	}
}

// system is the real thing, and what is expected of it.
type system struct {
	transport *memorytransport.Transport
	store     *memory.Store
	effects   conformance.Effects
	mode      idem.TransactionMode
	patience  time.Duration
	apps      []*running

	mu        sync.Mutex
	failing   map[string]int // the next so many runs fail
	doomed    map[string]bool
	published map[string]bool
}

type running struct {
	cancel context.CancelFunc
	ended  chan error
}

func happen(schedule []move, mode idem.TransactionMode) (err error) {
	tr, err := memorytransport.New(memorytransport.Config{Logger: quiet.Logger})
	if err != nil {
		return err
	}
	s := &system{
		transport: tr, store: memory.New(memory.Config{ClaimWait: claimWait}), mode: mode,
		patience: 30 * time.Second, failing: map[string]int{}, doomed: map[string]bool{}, published: map[string]bool{},
	}
	if text := os.Getenv(envPatience); text != "" {
		if s.patience, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	s.effects = conformance.MemoryEffects(s.store)
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.join(); err != nil {
		return err
	}
	for _, m := range schedule {
		if err := s.move(m); err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
	}
	s.mu.Lock()
	clear(s.failing)
	s.mu.Unlock()
	if len(s.apps) == 0 {
		if err := s.join(); err != nil {
			return err
		}
	}
	return s.await()
}

// await lets everything come that waits, and then a moment pass, in which
// something could still come twice.
func (s *system) await() error {
	deadline := time.Now().Add(s.patience)
	for {
		err := s.judge()
		if err == nil || time.Now().After(deadline) {
			time.Sleep(20 * time.Millisecond)
			return errors.Join(err, s.judge())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *system) move(m move) error {
	id := fmt.Sprint(m.n)
	switch m.kind {
	case "publish":
		s.published[id] = true
		msg := message.NewMessage("", fmt.Appendf(nil, `{"id":%q,"amount":1}`, id))
		msg.SetContext(idem.WithEnvelope(context.Background(), idem.Envelope{Key: []byte(id)}))
		return s.transport.Publisher().Publish("events", msg)
	case "fail":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failing[id] = 1 + m.n%2
	case "doom":
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.published[id] { // else it may be done already
			s.doomed[id] = true
		}
	case "join":
		if len(s.apps) < 3 {
			return s.join()
		}
	case "leave", "crash":
		if len(s.apps) > 0 {
			return s.leave(m.n%len(s.apps), m.kind == "crash")
		}
	case "sleep":
		time.Sleep(time.Duration(m.n*m.n) * time.Millisecond) // time is one of the moves
	}
	return nil
}

func (s *system) join() error {
	cfg := idem.Config{DrainTimeout: time.Millisecond}
	relay, err := wiring.NewRelay(cfg, quiet, s.store, s.transport, quiet.Logger)
	if err != nil {
		return err
	}
	app, err := wiring.NewApp(cfg, quiet, s.transport, s.store, relay, wiring.NewBreakers(cfg), quiet.Logger)
	if err != nil {
		return err
	}
	op := idem.Operation{
		Name: "billing", Topic: "events", Key: idem.KeyFrom(idem.FromPayload("/id")), Transaction: s.mode,
		Policy: idem.Policy{MaxAttempts: 1000, Backoff: idem.Backoff{Base: 10 * time.Millisecond, Max: 20 * time.Millisecond}},
	}
	if err := idem.Register(app, op, idem.HandlerFunc[conformance.Event](s.handle)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel, make(chan error, 1)}
	go func() { r.ended <- app.Run(ctx) }()
	<-app.Running()
	s.apps = append(s.apps, r)
	return nil
}

func (s *system) handle(ctx context.Context, m idem.Message[conformance.Event]) error {
	id := m.Payload.ID
	if err := s.effects.Add(ctx, id); err != nil {
		return err
	}
	select { // work, during which the process may end
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doomed[id] {
		return idem.Permanent(errBlip)
	}
	if s.failing[id] > 0 {
		s.failing[id]--
		return errBlip
	}
	return nil
}

// leave ends a process: in order, or so fast that its handlers are cut off.
func (s *system) leave(i int, crash bool) error {
	r := s.apps[i]
	s.apps = slices.Delete(s.apps, i, i+1)
	if !crash {
		time.Sleep(10 * time.Millisecond) // a drain of 1 ms would be a crash
	}
	r.cancel()
	err := <-r.ended
	if err != nil && (crash || strings.Contains(err.Error(), "drain") || strings.Contains(err.Error(), "close timeout")) {
		return nil // it was not given the time
	}
	return err
}

func (s *system) judge() error {
	got, err := s.effects.Count(context.Background())
	if err != nil {
		return err
	}
	letters, err := s.store.ListDeadLetters(context.Background(), idem.DeadLetterQuery{})
	if err != nil {
		return err
	}
	dead := map[string]int{}
	for _, d := range letters {
		dead[d.Key]++
	}
	for _, id := range slices.Sorted(maps.Keys(s.published)) {
		effects, parked := 1, 0
		if s.doomed[id] {
			effects, parked = 0, 1
		}
		if got[id] != effects || dead[id] != parked {
			err = errors.Join(err, fmt.Errorf("event %s has %d effects and %d dead letters, want %d and %d", id, got[id], dead[id], effects, parked))
		}
	}
	return err
}

func (s *system) end() error {
	var err error
	for len(s.apps) > 0 {
		err = errors.Join(err, s.leave(0, false))
	}
	return errors.Join(err, s.transport.Close())
}
