package docs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// Markdown documents a contract in GitHub's Markdown.
func Markdown(c *model.Contract) []byte {
	p := newPage(c)
	m := &markdown{}
	m.line(header)
	m.line("# " + heading(p.Title))
	if p.Version != "" {
		m.line("Version " + escape(p.Version) + ".")
	}
	m.paragraphs(p.Description)
	if len(p.Flow.Nodes) > 0 {
		m.line("## Flow")
		m.line("```mermaid\n" + p.Flow.mermaid() + "```")
	}
	if len(p.Operations) > 0 {
		m.line("## Operations")
		rows := make([][]string, len(p.Operations))
		for i, o := range p.Operations {
			for _, c := range o.Row {
				rows[i] = append(rows[i], c.markdown())
			}
		}
		m.table(p.Columns, rows)
		for _, o := range p.Operations {
			m.section("###", o.ID, o.Anchor, o.Description)
			m.facts(o.Facts)
		}
	}
	if len(p.Sends) > 0 {
		m.line("## Sends")
		for _, s := range p.Sends {
			m.section("###", s.ID, s.Anchor, s.Description)
			m.facts(s.Facts)
		}
	}
	if len(p.Messages) > 0 {
		m.line("## Messages")
		for _, msg := range p.Messages {
			m.message(msg)
		}
	}
	if len(p.Types) > 0 {
		m.line("## Types")
		for _, t := range p.Types {
			m.section("###", t.Name, t.Anchor, t.Description)
			m.typ(&t)
		}
	}
	return append(bytes.TrimRight(m.b.Bytes(), "\n"), '\n')
}

type markdown struct{ b bytes.Buffer }

// line writes a block and a blank line.
func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) paragraphs(paragraphs []string) {
	for _, p := range paragraphs {
		m.line(escape(p))
	}
}

func (m *markdown) section(level, name, anchor string, description []string) {
	m.line(fmt.Sprintf("%s <a id=%q></a>%s", level, anchor, heading(name)))
	m.paragraphs(description)
}

func (m *markdown) facts(facts []fact) {
	for _, f := range facts {
		fmt.Fprintf(&m.b, "* %s: %s\n", escape(f.Name), f.Value.markdown())
	}
	if len(facts) > 0 {
		m.b.WriteByte('\n')
	}
}

func (m *markdown) table(columns []string, rows [][]string) {
	row := func(cells []string) { m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(columns)
	m.b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, r := range rows {
		row(r)
	}
	m.b.WriteByte('\n')
}

func (m *markdown) message(msg message) {
	m.section("###", msg.Name, msg.Anchor, msg.Description)
	m.facts(msg.Facts)
	m.typ(msg.Payload)
	if msg.Headers != nil {
		m.line("Headers:")
		m.typ(msg.Headers)
	}
	for _, e := range msg.Examples {
		title := "Example:"
		if e.Name != "" {
			title = "Example " + escape(e.Name) + ":"
		}
		m.line(title)
		fence := fence(e.JSON)
		m.line(fence + "json\n" + e.JSON + "\n" + fence)
		m.facts(e.Headers)
	}
}

func (m *markdown) typ(t *typ) {
	if len(t.Fields) == 0 || len(t.What) > 1 {
		m.line(first(t.What.markdown()) + ".")
	}
	if len(t.Fields) > 0 {
		rows := make([][]string, len(t.Fields))
		for i, f := range t.Fields {
			required := "no"
			if f.Required {
				required = "yes"
			}
			rows[i] = []string{codeSpan(f.Name), f.Type.markdown(), required, f.Rules.markdown(), escape(strings.Join(f.Description, " "))}
		}
		m.table([]string{"Member", "Type", "Required", "Rules", "Description"}, rows)
	}
	for _, v := range t.Values {
		m.b.WriteString("* " + v.markdown() + "\n")
	}
	for _, v := range t.Variants {
		m.b.WriteString("* " + codeSpan(v.Name) + ": " + v.Value.markdown() + "\n")
	}
	if len(t.Values)+len(t.Variants) > 0 {
		m.b.WriteByte('\n')
	}
}

func (c cell) markdown() string {
	var b strings.Builder
	for _, t := range c {
		s := escape(t.Text)
		if t.Code {
			s = codeSpan(t.Text)
		}
		if t.Anchor != "" {
			s = "[" + s + "](#" + t.Anchor + ")"
		}
		b.WriteString(s)
	}
	return b.String()
}

// first puts the first letter in upper case.
func first(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func heading(s string) string { return escape(strings.Join(strings.Fields(s), " ")) }

// escape lets a line of text mean itself anywhere in Markdown, tables
// included.
func escape(s string) string {
	s = oneLine(s)
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_[]|~#$!", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case i == 0 && strings.ContainsRune("-+=", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		case (r == '.' || r == ')') && allDigits(s[:i]) && (s[i+1:] == "" || s[i+1] == ' '): // a numbered list
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// oneLine turns each control character, line breaks included, into a space.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

// codeSpan writes text as code, anywhere, tables included.
func codeSpan(s string) string {
	s = oneLine(s)
	if strings.TrimSpace(s) == "" {
		return "(blank)"
	}
	if strings.Contains(s, "|") { // in a code span it would need a backslash in a table, and show it elsewhere
		return "<code>" + escape(s) + "</code>"
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// fence is longer than any that the text has.
func fence(s string) string { return strings.Repeat("`", max(3, longestRun(s)+1)) }

func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
