package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// page is a report in the order and the words in which people read it; Markdown
// and HTML show the same.
type page struct {
	Verdict   string
	Holds     bool
	Summary   []string
	Problems  []string
	Runs      []runRow
	Harnesses []string
	Families  []family
	Reasons   []string // what skipped cases miss; [cell.Reason] counts from 1
	Crash     []Crash
	Baseline  baselineTable
}

// runRow is where one part of the report comes from.
type runRow struct {
	What, Name string
	Run        Run
	// Declares are the capabilities, "name value".
	Declares []string
}

// family are the cases whose ids begin with the same word.
type family struct {
	Name  string
	Cases []caseRow
}

type caseRow struct {
	ID, Intent string
	Cells      []cell // one per harness
}

// cell is a case on a harness. Without a result its outcome is empty.
type cell struct {
	Harness string
	Anchor  string
	Result
	ReasonNumber int
}

type baselineTable struct {
	Pipelines []Baseline
	Rows      []baselineRow
}

type baselineRow struct {
	ID, Scenario string
	Cells        []*BaselineResult // one per pipeline; nil where it did not run
}

func newPage(r Report) page {
	r = Merge(r)
	p := page{Problems: r.Problems(), Crash: r.Crash}
	p.Holds = len(p.Problems) == 0
	p.matrix(r)
	p.baseline(r)
	p.summary(r)
	for _, c := range r.Conformance {
		var declares []string
		for name, value := range c.Capabilities {
			declares = append(declares, name+" "+value)
		}
		slices.Sort(declares)
		p.Runs = append(p.Runs, runRow{"cases", c.Harness, c.Run, declares})
	}
	for _, c := range r.Crash {
		p.Runs = append(p.Runs, runRow{"crash", c.Harness, c.Run, nil})
	}
	for _, b := range r.Baseline {
		p.Runs = append(p.Runs, runRow{"baseline", b.Pipeline, b.Run, nil})
	}
	return p
}

func (p *page) matrix(r Report) {
	rows := map[string]*caseRow{}
	var ids []string
	for _, c := range r.Conformance {
		p.Harnesses = append(p.Harnesses, c.Harness)
		for _, res := range c.Results {
			if rows[res.ID] == nil {
				rows[res.ID] = &caseRow{ID: res.ID, Intent: res.Intent}
				ids = append(ids, res.ID)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		row := rows[id]
		for n, c := range r.Conformance {
			x := cell{Harness: c.Harness, Anchor: fmt.Sprintf("%s-%d", id, n+1)}
			if i := slices.IndexFunc(c.Results, func(res Result) bool { return res.ID == id }); i >= 0 {
				x.Result = c.Results[i]
			}
			if x.Outcome == Skipped {
				x.ReasonNumber = p.reason(x.Reason)
			}
			row.Cells = append(row.Cells, x)
		}
		name, _, _ := strings.Cut(id, "-")
		if len(p.Families) == 0 || p.Families[len(p.Families)-1].Name != name {
			p.Families = append(p.Families, family{Name: name})
		}
		f := &p.Families[len(p.Families)-1]
		f.Cases = append(f.Cases, *row)
	}
}

// reason numbers the reasons of skips in the order of their appearance.
func (p *page) reason(text string) int {
	if i := slices.Index(p.Reasons, text); i >= 0 {
		return i + 1
	}
	p.Reasons = append(p.Reasons, text)
	return len(p.Reasons)
}

func (p *page) baseline(r Report) {
	t := &p.Baseline
	t.Pipelines = r.Baseline
	seen := map[string]bool{}
	for _, b := range r.Baseline {
		for _, res := range b.Results {
			if !seen[res.ID] {
				seen[res.ID] = true
				t.Rows = append(t.Rows, baselineRow{ID: res.ID, Scenario: res.Scenario})
			}
		}
	}
	slices.SortFunc(t.Rows, func(a, b baselineRow) int { return cmp.Compare(a.ID, b.ID) })
	for i := range t.Rows {
		for _, b := range r.Baseline {
			var x *BaselineResult
			if j := slices.IndexFunc(b.Results, func(res BaselineResult) bool { return res.ID == t.Rows[i].ID }); j >= 0 {
				x = &b.Results[j]
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, x)
		}
	}
}

func (p *page) summary(r Report) {
	ran := map[Outcome]int{}
	cases := 0
	for _, f := range p.Families {
		cases += len(f.Cases)
		for _, c := range f.Cases {
			for _, x := range c.Cells {
				ran[x.Outcome]++
			}
		}
	}
	if cases > 0 {
		p.Summary = append(p.Summary, fmt.Sprintf("%s on %s: %d passed, %d failed, %d skipped with a reason",
			count(cases, "case"), count(len(p.Harnesses), "harness"), ran[Passed], ran[Failed], ran[Skipped]))
	}
	for _, c := range r.Crash {
		kills, effects := 0, Counts{}
		for _, res := range c.Results {
			kills += res.Kills
			effects = effects.plus(res.Effects)
		}
		p.Summary = append(p.Summary, fmt.Sprintf("%s: killed %s, of %s %d lost and %d doubled",
			c.Harness, count(kills, "time"), count(effects.Expected, "effect"), effects.Lost, effects.Doubled))
	}
	for _, b := range r.Baseline {
		effects, parked := Counts{}, 0
		for _, res := range b.Results {
			effects = effects.plus(res.Effects)
			parked += res.Parked
		}
		p.Summary = append(p.Summary, fmt.Sprintf("baseline, %s: of %s %d lost and %d doubled, %d parked for no fault of theirs",
			b.Pipeline, count(effects.Expected, "effect"), effects.Lost, effects.Doubled, parked))
	}
	switch {
	case !p.Holds:
		p.Verdict = count(len(p.Problems), "problem") + ": this is no certificate"
	case cases == 0 && len(r.Crash) == 0:
		p.Verdict = "nothing ran that could prove anything: this is no certificate"
		p.Holds = false
	default:
		p.Verdict = "everything that ran held"
	}
}

// count is a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// text is what the cell of a pipeline says.
func (r *BaselineResult) text() string {
	if r == nil {
		return "did not run"
	}
	var parts []string
	if r.Effects.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%d lost", r.Effects.Lost))
	}
	if r.Effects.Doubled > 0 {
		parts = append(parts, fmt.Sprintf("%d doubled", r.Effects.Doubled))
	}
	if r.Parked > 0 {
		parts = append(parts, fmt.Sprintf("%d parked", r.Parked))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("exact, %d of %[1]d", r.Effects.Expected)
	}
	return strings.Join(parts, ", ") + fmt.Sprintf(" of %d", r.Effects.Expected)
}

// text is lost and doubled in short; empty where nothing was counted.
func (c *Counts) text() string {
	switch {
	case c == nil:
		return ""
	case c.Exact():
		return fmt.Sprintf("exact, %d", c.Expected)
	}
	return fmt.Sprintf("%d lost, %d doubled of %d", c.Lost, c.Doubled, c.Expected)
}

func (r runRow) when() string { return r.Run.Started.UTC().Format("2006-01-02 15:04 MST") }

func (r runRow) took() string { return seconds(r.Run.Seconds) }

// where is the environment in one line.
func (r runRow) where() string {
	e := r.Run.Environment
	parts := []string{}
	if e.Idem != "" {
		parts = append(parts, "idem "+e.Idem)
	}
	parts = append(parts, e.Go, e.Platform, count(e.CPUs, "CPU"))
	for _, s := range e.Servers {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ", ")
}

// seconds is a duration for people.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
