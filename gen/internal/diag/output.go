package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Output is what is written about a run.
type Output struct {
	Problems, Warnings []Problem
	// Lines returns the lines of a file for excerpts, nil if there are none;
	// nil leaves excerpts out.
	Lines func(file string) []string
}

// Formats returns the formats that Write knows.
func Formats() []string { return []string{"text", "json", "github"} }

// Write writes everything in one of the Formats: for people, for programs, or
// as annotations of a GitHub workflow.
func (o Output) Write(w io.Writer, format string) error {
	var b bytes.Buffer
	switch format {
	case "text":
		o.text(&b)
	case "json":
		if err := o.json(&b); err != nil {
			return err
		}
	case "github":
		o.github(&b)
	default:
		return fmt.Errorf("there is no format %q: use %s", format, strings.Join(Formats(), ", "))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (o Output) each(do func(severity string, p Problem)) {
	for _, p := range o.Problems {
		do("error", p)
	}
	for _, p := range o.Warnings {
		do("warning", p)
	}
}

func (o Output) text(b *bytes.Buffer) {
	o.each(func(severity string, p Problem) {
		if severity == "warning" {
			b.WriteString("warning: ")
		}
		b.WriteString(printable(p.String()) + "\n")
		o.excerpt(b, p.Pos)
		for _, r := range p.Related {
			fmt.Fprintf(b, "  %s: %s\n", printable(r.Pos.String()), printable(r.Note))
			o.excerpt(b, r.Pos)
		}
	})
}

// maxExcerpt is how many characters of a line are shown.
const maxExcerpt = 110

// excerpt shows the line of a place, and the column below it.
func (o Output) excerpt(b *bytes.Buffer, at Pos) {
	if o.Lines == nil || at.Line == 0 {
		return
	}
	lines := o.Lines(at.File)
	if at.Line > len(lines) {
		return
	}
	line := []rune(strings.TrimPrefix(strings.TrimSuffix(lines[at.Line-1], "\r"), "\ufeff"))
	col := min(max(at.Col, 1), len(line)+1)
	head, tail := "", ""
	if len(line) > maxExcerpt {
		from := min(max(col-maxExcerpt/2, 0), len(line)-maxExcerpt)
		to := from + maxExcerpt
		if to < len(line) {
			tail = "…"
		}
		if from > 0 {
			head = "…"
		}
		line, col = line[from:to], col-from
	}
	number := strconv.Itoa(at.Line)
	blank := strings.Repeat(" ", len(number))
	fmt.Fprintf(b, "    %s | %s%s%s\n", number, head, printable(string(line)), tail)
	if at.Col == 0 {
		return
	}
	// Tabs stay, so that the caret stands below its column however wide they are.
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, head+string(line[:min(col-1, len(line))]))
	fmt.Fprintf(b, "    %s | %s^\n", blank, indent)
}

// printable keeps control characters of a contract away from the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return '\ufffd'
		}
		return r
	}, s)
}

type jsonPlace struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	Note string `json:"note,omitempty"`
}

type jsonProblem struct {
	Code     Code   `json:"code"`
	Severity string `json:"severity"`
	jsonPlace
	Message string      `json:"message"`
	Fix     string      `json:"fix,omitempty"`
	Related []jsonPlace `json:"related,omitempty"`
}

// json writes {"version": 1, "problems": […]}. Fields are only ever added.
func (o Output) json(b *bytes.Buffer) error {
	out := struct {
		Version  int           `json:"version"`
		Problems []jsonProblem `json:"problems"`
	}{1, []jsonProblem{}}
	o.each(func(severity string, p Problem) {
		j := jsonProblem{
			Code: p.Code, Severity: severity, Message: p.Message, Fix: p.Fix,
			jsonPlace: jsonPlace{File: p.Pos.File, Line: p.Pos.Line, Col: p.Pos.Col},
		}
		for _, r := range p.Related {
			j.Related = append(j.Related, jsonPlace{r.Pos.File, r.Pos.Line, r.Pos.Col, r.Note})
		}
		out.Problems = append(out.Problems, j)
	})
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// github writes workflow commands.
func (o Output) github(b *bytes.Buffer) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	o.each(func(severity string, p Problem) {
		fmt.Fprintf(b, "::%s ", severity)
		if p.Pos.File != "" {
			fmt.Fprintf(b, "file=%s,", property.Replace(p.Pos.File))
		}
		if p.Pos.Line > 0 {
			fmt.Fprintf(b, "line=%d,", p.Pos.Line)
		}
		if p.Pos.Col > 0 {
			fmt.Fprintf(b, "col=%d,", p.Pos.Col)
		}
		message := p.Message
		if p.Fix != "" {
			message += " (" + p.Fix + ")"
		}
		for _, r := range p.Related {
			message += "\n" + r.Pos.String() + ": " + r.Note
		}
		fmt.Fprintf(b, "title=%s::%s\n", p.Code, data.Replace(message))
	})
}
