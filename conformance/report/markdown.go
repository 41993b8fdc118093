package report

import (
	"fmt"
	"strconv"
	"strings"
)

// Markdown is the report as a document: verdict, environment, the matrix of cases
// and harnesses, crash table, baseline. What was done and seen in each case is in
// [Report.HTML] and the JSON form only.
func (r Report) Markdown() []byte {
	p := newPage(r)
	m := &markdown{}
	m.line("# Conformance certificate")
	m.line("**" + escape(p.Verdict) + ".**")
	m.list(p.Summary)
	if len(p.Problems) > 0 {
		m.line("## Problems")
		m.list(p.Problems)
	}
	if len(p.Families) > 0 {
		m.line("## Cases")
		m.line("✓ passed, ✗ failed, a number: skipped, for the reason below with that number.")
		for _, f := range p.Families {
			m.line("### " + escape(f.Name))
			var rows [][]string
			for _, c := range f.Cases {
				row := []string{escape(c.ID), escape(c.Intent)}
				for _, x := range c.Cells {
					row = append(row, x.mark())
				}
				rows = append(rows, row)
			}
			m.table(append([]string{"case", "what it proves"}, escaped(p.Harnesses)...), rows)
		}
		if len(p.Reasons) > 0 {
			m.line("### Reasons of skips")
			for i, reason := range p.Reasons {
				fmt.Fprintf(&m.b, "%d. %s\n", i+1, escape(reason))
			}
			m.b.WriteByte('\n')
		}
	}
	if len(p.Crash) > 0 {
		m.line("## Crash certificate")
		m.line("Effects are rows of the business table, one per message published. Emitted events and external calls are counted where a plan has them.")
		var rows [][]string
		for _, c := range p.Crash {
			for _, res := range c.Results {
				rows = append(rows, []string{
					escape(c.Harness), escape(res.Plan), escape(res.Step), strconv.Itoa(res.Kills), res.Effects.text(), res.Emitted.text(), res.Calls.text(),
				})
			}
		}
		m.table([]string{"harness", "plan", "step", "kills", "effects", "emitted", "calls"}, rows)
	}
	if t := p.Baseline; len(t.Pipelines) > 0 {
		m.line("## Baseline")
		m.line("The same trouble, counted by the same ledger, in pipelines without idem and with it. Lost: no row in the business table. " +
			"Doubled: more than one. Parked: in the dead letters, though nothing was wrong with the message.")
		head := []string{"scenario", "what happens"}
		for _, b := range t.Pipelines {
			head = append(head, escape(b.Pipeline))
		}
		var rows [][]string
		for _, row := range t.Rows {
			cells := []string{escape(row.ID), escape(row.Scenario)}
			for _, x := range row.Cells {
				cells = append(cells, x.text())
			}
			rows = append(rows, cells)
		}
		m.table(head, rows)
	}
	if len(p.Runs) > 0 {
		m.line("## Where it ran")
		var rows [][]string
		for _, run := range p.Runs {
			rows = append(rows, []string{run.What, escape(run.Name), run.when(), run.took(), escape(run.where()), escape(strings.Join(run.Declares, ", "))})
		}
		m.table([]string{"part", "name", "began", "took", "environment", "the transport declares"}, rows)
	}
	return []byte(strings.TrimRight(m.b.String(), "\n") + "\n")
}

// mark is the cell of a matrix.
func (c cell) mark() string {
	switch c.Outcome {
	case Passed:
		return "✓"
	case Failed:
		return "**✗**"
	case Skipped:
		return strconv.Itoa(c.ReasonNumber)
	}
	return ""
}

type markdown struct{ b strings.Builder }

func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) list(items []string) {
	for _, item := range items {
		m.b.WriteString("* " + escape(item) + "\n")
	}
	if len(items) > 0 {
		m.b.WriteByte('\n')
	}
}

// table writes cells as they are.
func (m *markdown) table(head []string, rows [][]string) {
	row := func(cells []string) { m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(head)
	m.b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		row(r)
	}
	m.b.WriteByte('\n')
}

// escape makes text of anything: on one line, and without a meaning in Markdown.
func escape(s string) string {
	var b strings.Builder
	for i, word := range strings.Fields(s) {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, r := range word {
			switch {
			case r < ' ' || r == 0x7f:
				continue
			case r == '<':
				b.WriteString("&lt;")
				continue
			case r == '&':
				b.WriteString("&amp;")
				continue
			case strings.ContainsRune("\\`*_[]|~#$", r):
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

func escaped(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = escape(s)
	}
	return out
}
