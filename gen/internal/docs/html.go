package docs

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// HTML documents a contract as one page that loads nothing and runs no script.
// An error is a defect of idemgen, not of the contract.
func HTML(c *model.Contract) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(pageStyle) },
		"first": first,
		"words": func(paragraphs []string) string { return strings.Join(paragraphs, " ") },
		"half":  func(n int) int { return n / 2 },
		"add":   func(a, b int) int { return a + b },
	}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	p := newPage(c)
	// The template leaves comments out, and the first line is idemgen's mark.
	b := bytes.NewBufferString("<!doctype html>\n" + header + "\n")
	if err := t.Execute(b, struct {
		*page
		Drawing *drawing
	}{p, p.Flow.draw()}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
