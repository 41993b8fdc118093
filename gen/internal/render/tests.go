package render

import (
	"path"
	"strings"
)

// fixture is what the templates of tests see.
type fixture struct {
	handlerFile
	Fixture string // name of the function
	Payload string // Go expression in terms of n
	Headers []string
	Varies  bool
	Old     string
	New     string
}

// tests renders the gold tests and the fixtures that the user completes.
func (r *renderer) tests() {
	folder := r.settings.Handlers
	for _, h := range r.handlerFiles() {
		const indent = "\t\t\t\t"
		s := sampleOf(h.Operation, 0)
		c := s.reuse(h.Operation, indent)
		f := fixture{
			handlerFile: h, Fixture: strings.ToLower(h.Type[:1]) + h.Type[1:] + "Fixture",
			Payload: s.format(indent), Headers: s.headerList(), Varies: s.varies, Old: c.old, New: c.new,
		}
		use := imports{
			"context": std, "errors": std, "testing": std,
			library + "/framework/idemtest": "", r.importPath(r.settings.Messages): r.msgs,
		}
		if len(f.Headers) > 0 {
			use[library+"/framework/idem"] = ""
		}
		if f.Old != "" {
			use["bytes"] = std
		}
		if strings.Contains(f.Payload+strings.Join(f.Headers, ""), "fmt.Appendf(") {
			use["fmt"] = std
		}
		r.goFile(goFile{
			path: path.Join(folder, h.file+"_fixture_test.go"), owner: User, op: h.ID, source: h.Source, pkg: r.handlersPkg,
			imports: use, template: "fixture.tmpl", data: f,
		})
		r.goFile(goFile{
			path: path.Join(folder, h.file+"_gold_gen_test.go"), source: h.Source, pkg: r.handlersPkg,
			imports: imports{
				"testing": std, library + "/framework/idemtest": "", r.importPath(r.settings.Messages): r.msgs,
			},
			template: "gold.tmpl", data: f,
		})
	}
	if len(r.ops) == 0 {
		return
	}
	r.goFile(goFile{
		path: path.Join(folder, "world_test.go"), owner: User, pkg: r.handlersPkg,
		imports: imports{"testing": std, library + "/framework/idemtest": ""}, template: "world.tmpl",
	})
}
