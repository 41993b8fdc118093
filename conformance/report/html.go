package report

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// HTML is the report as one page: verdict, matrix, crash table, baseline and, for
// each case, what was done and seen. It loads nothing and runs no script.
func (r Report) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"style":   func() template.CSS { return template.CSS(pageStyle) },
		"seconds": seconds,
		"counts":  (*Counts).text,
		"exact":   func(c *Counts) bool { return c == nil || c.Exact() },
		"ref":     func(c Counts) *Counts { return &c },
		"pipe":    (*BaselineResult).text,
		"clean":   func(r *BaselineResult) bool { return r != nil && r.Effects.Exact() && r.Parked == 0 },
		"when":    runRow.when,
		"took":    runRow.took,
		"where":   runRow.where,
	}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(r)); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}
