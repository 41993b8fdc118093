package docs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/idem-go/idem/gen/internal/model"
)

func plain(format string, args ...any) text { return text{Text: fmt.Sprintf(format, args...)} }

func code(s string) text { return text{Text: s, Code: true} }

func linked(s, anchor string) text { return text{Text: s, Code: true, Anchor: anchor} }

// join puts a separator between cells and leaves out empty ones.
func join(separator string, cells ...cell) cell {
	var out cell
	for _, c := range cells {
		if len(c) == 0 {
			continue
		}
		if len(out) > 0 {
			out = append(out, plain("%s", separator))
		}
		out = append(out, c...)
	}
	return out
}

func codes(separator string, values []string) cell {
	cells := make([]cell, len(values))
	for i, s := range values {
		cells[i] = cell{code(s)}
	}
	return join(separator, cells...)
}

// paragraphs splits text at blank lines.
func paragraphs(s string) []string {
	var out, lines []string
	flush := func() {
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, " "))
			lines = nil
		}
	}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" {
			flush()
		} else {
			lines = append(lines, line)
		}
	}
	flush()
	return out
}

// about is what a summary and a description say together.
func about(summary, description string) []string {
	out := paragraphs(summary)
	for i, p := range paragraphs(description) {
		if i > 0 || len(out) != 1 || out[0] != p {
			out = append(out, p)
		}
	}
	return out
}

// duration writes whole days as days, and leaves out what is zero.
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return model.FormatDuration(d)
}

// anchor makes a name that is safe as an HTML id and in a link. Different
// names of a kind have different anchors.
func anchor(kind, name string) string {
	var b strings.Builder
	b.WriteString(kind + "-")
	for _, r := range name {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	return b.String()
}
