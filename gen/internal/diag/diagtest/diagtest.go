// Package diagtest helps packages that report problems to test that each of
// their codes is reported by some wrong input.
package diagtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Seen collects the codes that the tests of a package have provoked. The zero
// value is empty; it may be used by parallel tests.
type Seen struct {
	mu    sync.Mutex
	codes map[diag.Code]bool
}

// Add notes problems that a wrong input has led to.
func (s *Seen) Add(problems []diag.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.codes == nil {
		s.codes = map[diag.Code]bool{}
	}
	for _, p := range problems {
		s.codes[p.Code] = true
	}
}

// Check fails the test for each code from IDEM<first> to IDEM<last> that was
// not seen. It is to be called after the cases have run.
func (s *Seen) Check(t testing.TB, first, last int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, info := range diag.Codes() {
		var n int
		if _, err := fmt.Sscanf(string(info.Code), "IDEM%d", &n); err != nil || n < first || n > last {
			continue
		}
		if !s.codes[info.Code] {
			t.Errorf("no case provokes %s: %s", info.Code, info.Title)
		}
	}
}

// mark is put into a text before the place where a problem is expected.
const mark = '«'

// Marked removes the marks « from the texts of files and returns the places
// that they stood at, by file in the given order and then as in the text.
func Marked(names []string, files map[string]string) (clean map[string]string, places []diag.Pos) {
	clean = map[string]string{}
	for _, name := range names {
		var b strings.Builder
		line, col := 1, 1
		for _, r := range files[name] {
			switch r {
			case mark:
				places = append(places, diag.Pos{File: name, Line: line, Col: col})
				continue
			case '\n':
				line, col = line+1, 0
			}
			col++
			b.WriteRune(r)
		}
		clean[name] = b.String()
	}
	return clean, places
}
