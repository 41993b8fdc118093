// Package memory is a store without a database: for tests, demos and the first
// minutes with idem. It keeps every promise of [idem.Store] but one: nothing
// survives the process.
//
// It reads the time only through package time, so it works inside
// testing/synctest.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Config of a [Store]. The zero value is useful.
type Config struct {
	// Name is what Database returns. "" is a name that no other store has.
	Name string
	// ClaimWait is how long Claim waits for a key that another transaction
	// holds. 0 means 5 s.
	ClaimWait time.Duration
	// Fault lets a test break the store: it is asked at every [Point], and an
	// error that it returns becomes the store's. It must be safe for
	// concurrent use and must not call the store. Nil never fails.
	Fault func(Point) error
}

// Point is a place where a database may fail.
type Point string

// The places at which Config.Fault is asked.
const (
	AtBegin      Point = "begin"       // the transaction does not start
	AtClaim      Point = "claim"       // the claim's statement fails
	BeforeCommit Point = "commit"      // COMMIT is refused: nothing is applied, and that is known
	LostCommit   Point = "lost commit" // nothing is applied, but the caller cannot know
	LostReply    Point = "lost reply"  // everything is applied, but the caller cannot know
	AtCall       Point = "call"        // a method outside a transaction fails
)

// Store is an [idem.Store] in memory. Safe for concurrent use; transactions
// run in parallel and wait for each other only at the same key. Reads are of
// the isolation level read committed.
type Store struct {
	cfg   Config
	locks locks
	wake  chan struct{}

	mu       sync.Mutex
	closed   bool
	records  map[recordID]record
	outbox   []*outboxRow // by seq
	emitted  map[outgoingID]bool
	seq      int64
	letters  map[string]*idem.DeadLetter
	parked   []string // ids of letters, in the order they were stored
	table    map[string]string
	counters map[string]int64
	ops      operations
}

var _ idem.Store = (*Store)(nil)

// New returns an empty store.
func New(cfg Config) *Store {
	if cfg.ClaimWait <= 0 {
		cfg.ClaimWait = 5 * time.Second
	}
	if cfg.Fault == nil {
		cfg.Fault = func(Point) error { return nil }
	}
	s := &Store{
		cfg:      cfg,
		locks:    locks{held: map[lockKey]*lock{}},
		wake:     make(chan struct{}, 1),
		records:  map[recordID]record{},
		emitted:  map[outgoingID]bool{},
		letters:  map[string]*idem.DeadLetter{},
		table:    map[string]string{},
		counters: map[string]int64{},
		ops:      newOperations(),
	}
	if cfg.Name == "" {
		s.cfg.Name = fmt.Sprintf("memory:%p", s)
	}
	return s
}

// Do implements [idem.Store].
func (s *Store) Do(ctx context.Context, fn func(idem.Tx) error) error {
	if err := s.ready(ctx, AtBegin); err != nil {
		return err
	}
	u := newUnit(s)
	defer u.end() // also when fn panics
	if err := fn(u); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return failure("transaction rolled back", context.Cause(ctx))
	}
	if err := s.cfg.Fault(BeforeCommit); err != nil {
		return failure("commit", err)
	}
	if err := s.cfg.Fault(LostCommit); err != nil {
		return failure("commit", fmt.Errorf("%w: %w", idem.ErrUnknownCommit, err))
	}
	u.commit()
	if err := s.cfg.Fault(LostReply); err != nil {
		return failure("commit", fmt.Errorf("%w: %w", idem.ErrUnknownCommit, err))
	}
	return nil
}

// ready says why the store cannot work now.
func (s *Store) ready(ctx context.Context, at Point) error {
	if ctx.Err() != nil {
		return failure(string(at), context.Cause(ctx))
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return failure(string(at), fmt.Errorf("store is closed"))
	}
	if err := s.cfg.Fault(at); err != nil {
		return failure(string(at), err)
	}
	return nil
}

func failure(what string, err error) error {
	return fmt.Errorf("memory: %s: %w: %w", what, idem.ErrStore, err)
}

// Database implements [idem.Store].
func (s *Store) Database() string { return s.cfg.Name }

// Migrate implements [idem.Store]; there is nothing to migrate.
func (s *Store) Migrate(ctx context.Context) error { return s.ready(ctx, AtCall) }

// Ping implements [idem.Store].
func (s *Store) Ping(ctx context.Context) error { return s.ready(ctx, AtCall) }

// Close implements [idem.Store]: later calls fail with [idem.ErrStore].
// Transactions under way may end.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Sweep implements [idem.Store].
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	if err := s.ready(ctx, AtCall); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, n := time.Now(), 0
	for id, r := range s.records {
		if n >= limit {
			break
		}
		if r.past(now) {
			delete(s.records, id)
			n++
		}
	}
	return n, nil
}
