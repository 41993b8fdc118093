package idemtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/idem-go/idem/framework/idemsql"
)

// statements is the business database under the eyes of the test: it knows
// which run of which handler a statement belongs to.
type statements struct {
	db idemsql.DB
	// oneWriter: a write outside the unit of work waits for the unit of work.
	oneWriter bool

	mu      sync.Mutex
	units   map[int64]*run // runs in a unit of work, by their goroutine
	outside []string       // writes that a handler made outside its unit of work
	late    []string       // statements of handlers that had returned
}

func newStatements(db idemsql.DB, oneWriter bool) *statements {
	return &statements{db: db, oneWriter: oneWriter, units: map[int64]*run{}}
}

var (
	errLate    = errors.New("idemtest: the handler has returned, its unit of work has ended: wait for your goroutines before you return")
	errOutside = errors.New("idemtest: a write outside the handler's unit of work, which on SQLite would wait for the unit of work itself: " +
		"hand the handler's own ctx to the database")
)

// detached is how long a statement from a goroutine other than its handler's is
// held back, to see whether the handler returns without it.
const detached = 50 * time.Millisecond

// allow says whether a statement may run.
func (s *statements) allow(ctx context.Context, query string) error {
	here := goroutine()
	if r := runFrom(ctx); r != nil {
		if here != r.goroutine {
			wait := time.NewTimer(detached)
			defer wait.Stop()
			select {
			case <-r.returned:
			case <-wait.C:
			}
		}
		if r.hasReturned() {
			s.note(&s.late, query)
			return errLate
		}
		return nil
	}
	if !writes(query) {
		return nil
	}
	s.mu.Lock()
	_, inUnit := s.units[here]
	s.mu.Unlock()
	if !inUnit {
		return nil
	}
	s.note(&s.outside, query)
	if s.oneWriter {
		return errOutside
	}
	return nil
}

func (s *statements) note(list *[]string, query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := excerpt(query); !slices.Contains(*list, q) {
		*list = append(*list, q)
	}
}

// enter and leave tell that a run has a unit of work.
func (s *statements) enter(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units[r.goroutine] = r
}

func (s *statements) leave(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.units, r.goroutine)
}

// remarks is what was noticed, for the failures of a test.
func (s *statements) remarks() (outside, late string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.outside) > 0 {
		outside = fmt.Sprintf("\n\tnoticed: the handler wrote outside its unit of work, with a context that is not its own: %s", strings.Join(s.outside, "; "))
	}
	return outside, strings.Join(s.late, "; ")
}

// Exec implements [idemsql.DB].
func (s *statements) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := s.allow(ctx, query); err != nil {
		return 0, err
	}
	return s.db.Exec(ctx, query, args...)
}

// QueryRow implements [idemsql.DB].
func (s *statements) QueryRow(ctx context.Context, query string, args ...any) idemsql.Row {
	if err := s.allow(ctx, query); err != nil {
		return noRow{err}
	}
	return s.db.QueryRow(ctx, query, args...)
}

// Query implements [idemsql.DB].
func (s *statements) Query(ctx context.Context, query string, args ...any) (idemsql.Rows, error) {
	if err := s.allow(ctx, query); err != nil {
		return nil, err
	}
	return s.db.Query(ctx, query, args...)
}

type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

// writes reports whether a statement may change something.
func writes(query string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	return !strings.EqualFold(strings.TrimSpace(first), "select")
}

func excerpt(query string) string {
	const most = 80
	q := strings.Join(strings.Fields(query), " ")
	if len(q) > most {
		q = strings.ToValidUTF8(q[:most], "") + "…"
	}
	return strconv.Quote(q)
}

// goroutine is the number of the calling one. The run-time library tells it in
// stack traces only; a test may look there.
func goroutine() int64 {
	var buf [64]byte
	text := strings.TrimPrefix(string(buf[:runtime.Stack(buf[:], false)]), "goroutine ")
	number, _, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}
