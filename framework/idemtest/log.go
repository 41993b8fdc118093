package idemtest

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// logBook keeps the application's log until it is known whether anybody wants
// to read it.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logBook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: leaveOut}))
}

// leaveOut drops what makes lines long and tells nothing here.
func leaveOut(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "duration_ms" {
		return slog.Attr{}
	}
	return a
}

// Write takes one line.
func (l *logBook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSuffix(string(line), "\n")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	l.lines = append(l.lines, text)
	return len(line), nil
}

const (
	lastLines = 12
	longest   = 300 // bytes of a line: a stack trace is no help here
)

// show prints the last lines.
func (l *logBook) show(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines[max(0, len(l.lines)-lastLines):]
	if len(lines) > 0 {
		t.Logf("the application's last words:\n\t%s", strings.Join(lines, "\n\t"))
	}
}
