package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells what happens while it happens, each line with the time since
// the beginning. Safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	begin time.Time
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "%5.1fs  %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// count is a number and what it counts: "1 charge", "2 charges".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
