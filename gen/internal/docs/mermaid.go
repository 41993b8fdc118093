package docs

import (
	"fmt"
	"strings"
	"unicode"
)

// mermaid writes the flow as the source of a mermaid diagram.
func (f *flow) mermaid() string {
	shapes := map[kind][2]string{
		topicNode: {"([", "])"}, operationNode: {"[", "]"}, sendNode: {">", "]"}, deadNode: {"[(", ")]"},
	}
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, n := range f.Nodes {
		shape := shapes[n.Kind]
		fmt.Fprintf(&b, "  %s%s\"%s\"%s\n", n.ID, shape[0], mermaidText(n.Label), shape[1])
	}
	for _, e := range f.Edges {
		arrow := "-->"
		if e.Dead {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", f.Nodes[e.From].ID, arrow, f.Nodes[e.To].ID)
	}
	return b.String()
}

// mermaidText writes whatever could mean something to mermaid, HTML or
// Markdown as a numbered entity of mermaid's.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == ' ', r == '.', r == '-', unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsControl(r):
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
