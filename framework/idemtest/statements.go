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

	"github.com/idem-go/idem/framework/idemsql"
)

// statements is the business database under the eyes of the test: it knows
// which run of which handler a statement belongs to.
type statements struct {
	db idemsql.DB
	// oneWriter: a write outside the unit of work waits for the unit of work.
	oneWriter bool

	mu      sync.Mutex
	runs    map[int64]*run // by their goroutine; the latest of each
	outside []string       // writes that a handler made outside its unit of work
	late    []string       // statements of handlers that had returned
}

func newStatements(db idemsql.DB, oneWriter bool) *statements {
	return &statements{db: db, oneWriter: oneWriter, runs: map[int64]*run{}}
}

var (
	errLate    = errors.New("idemtest: the handler has returned, its unit of work has ended: wait for your goroutines before you return")
	errOutside = errors.New("idemtest: a write outside the handler's unit of work, which on SQLite would wait for the unit of work itself: " +
		"hand the handler's own ctx to the database")
)

// allow says whether a statement may run.
func (s *statements) allow(ctx context.Context, query string) error {
	here, parent := goroutine()
	r := runFrom(ctx)
	own := r != nil
	if !own {
		if !writes(query) {
			return nil
		}
		if r = s.runOf(here, parent); r == nil { // the test, or a stand-in that the handler knows nothing of
			return nil
		}
	}
	if here != r.goroutine && r.returnsWithin(detached) {
		s.note(&s.late, query)
		return errLate
	}
	if own || !r.inUnit() {
		return nil
	}
	s.note(&s.outside, query)
	if s.oneWriter {
		return errOutside
	}
	return nil
}

// runOf finds the run whose goroutine is one of the given.
func (s *statements) runOf(here, parent int64) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[here]; r != nil {
		return r
	}
	return s.runs[parent]
}

func (s *statements) note(list *[]string, query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := excerpt(query); !slices.Contains(*list, q) {
		*list = append(*list, q)
	}
}

// enter makes a run known.
func (s *statements) enter(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.goroutine] = r
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

// goroutine returns the numbers of the calling goroutine and of the one that
// started it. The run-time library tells them in stack traces only; a test may
// look there.
func goroutine() (here, parent int64) {
	buf := make([]byte, 16<<10)
	text := string(buf[:runtime.Stack(buf, false)])
	here = numberAfter(text, "goroutine ")
	if i := strings.LastIndex(text, "created by "); i >= 0 {
		parent = numberAfter(text[i:], " in goroutine ")
	}
	return here, parent
}

func numberAfter(text, mark string) int64 {
	_, rest, _ := strings.Cut(text, mark)
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, _ := strconv.ParseInt(rest[:digits], 10, 64)
	return n
}
