package gen

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/settings"
	"github.com/idem-go/idem/gen/internal/source"
)

// project is an opened project.
type project struct {
	root               *os.Root // nothing outside it is read or written
	config             string   // idemgen.yaml, in the root
	module             string   // import path of the root
	set                *source.Set
	problems, warnings *diag.List
	report             *Report
}

// run opens the project, lets do work with it and closes the report.
func run(o Options, do func(*project) error) (*Report, error) {
	config := o.Config
	if config == "" {
		config = settings.FileName
	}
	info, err := os.Stat(config)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", err, errNoConfig)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: %w", config, errNoConfig)
	}
	dir := filepath.Dir(config)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	p := &project{root: root, config: filepath.Base(config), problems: &diag.List{}, warnings: &diag.List{}, report: &Report{}}
	p.set = source.NewSet(root.FS(), p.problems)
	p.report.prefix = prefixOf(dir)
	if err := do(p); err != nil {
		return nil, err
	}
	p.report.Problems = p.placed(p.problems)
	p.report.Warnings = p.placed(p.warnings)
	p.report.lines = p.excerpts()
	return p.report, nil
}

// prefixOf is the way from the working directory to the project's root, with
// slashes; "" if it is the same or there is none.
func prefixOf(dir string) string {
	if filepath.IsAbs(dir) {
		if here, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(rel) {
				dir = rel
			}
		}
	}
	if dir = filepath.ToSlash(filepath.Clean(dir)); dir == "." {
		return ""
	}
	return dir
}

// placed returns the problems with places as seen from the working directory,
// so that editors find them.
func (p *project) placed(l *diag.List) []Problem {
	out := l.Sorted()
	for i := range out {
		out[i].Pos.File = p.seen(out[i].Pos.File)
		related := make([]diag.Related, len(out[i].Related))
		for j, r := range out[i].Related {
			r.Pos.File = p.seen(r.Pos.File)
			related[j] = r
		}
		if len(related) > 0 {
			out[i].Related = related
		}
	}
	return out
}

func (p *project) seen(file string) string {
	if file == "" || p.report.prefix == "" {
		return file
	}
	return path.Join(p.report.prefix, file)
}

// excerpts returns the lines of the files that have problems, by the names that
// those have. It reads them now, while the root is open.
func (p *project) excerpts() map[string][]string {
	out := map[string][]string{}
	add := func(at diag.Pos) {
		if _, ok := out[at.File]; ok || at.Line == 0 {
			return
		}
		name := at.File
		if p.report.prefix != "" {
			name = strings.TrimPrefix(name, p.report.prefix+"/")
		}
		lines := p.set.Lines(name)
		if lines == nil {
			if text, err := fs.ReadFile(p.root.FS(), name); err == nil && len(text) <= maxExcerpt {
				lines = strings.Split(string(text), "\n")
			}
		}
		out[at.File] = lines
	}
	for _, problem := range slices.Concat(p.report.Problems, p.report.Warnings) {
		add(problem.Pos)
		for _, r := range problem.Related {
			add(r.Pos)
		}
	}
	return out
}

// maxExcerpt is how big a file may be to show some of it.
const maxExcerpt = 1 << 20

// load reads settings and contract. What is wrong is reported, and then the
// contract is nil. Of a contract that can be found in spite of bad settings,
// the problems are reported as well.
func (p *project) load() (*settings.Settings, *model.Contract) {
	s, ok := settings.Load(p.root, p.set, p.problems, p.config)
	p.module = settings.ImportPath(p.root.Name(), p.problems)
	if (s.Contract == "") == (s.Go == "") {
		return s, nil
	}
	before := p.problems.Len()
	c := p.contract(s)
	if !ok || p.module == "" || p.problems.Len() > before {
		return s, nil
	}
	return s, c
}
