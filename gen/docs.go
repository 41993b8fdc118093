package gen

import (
	"path"
	"strings"

	"github.com/idem-go/idem/gen/internal/docs"
	"github.com/idem-go/idem/gen/internal/lock"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/settings"
	"github.com/idem-go/idem/gen/internal/tree"
)

// Docs writes the documentation of the contract, as Markdown and as one HTML
// page, to the folder that idemgen.yaml names, docs by default. Generate does
// the same if it names one. The error is one of usage or I/O.
func Docs(o Options) (*Report, error) {
	return run(o, func(p *project) error {
		s, c := p.load()
		if c == nil {
			return nil
		}
		files, err := p.docs(s, c)
		if err != nil {
			return err
		}
		plan, err := tree.Compare(p.root, files, &lock.Lock{}, p.problems, p.warnings)
		if err != nil || p.problems.Len() > 0 {
			return err
		}
		p.report.Changes = plan.Changes()
		return plan.Apply()
	})
}

func (p *project) docs(s *settings.Settings, c *model.Contract) ([]tree.File, error) {
	html, err := docs.HTML(c)
	if err != nil {
		return nil, err
	}
	name := path.Join(s.Docs, slug(c.Title))
	return []tree.File{
		{Path: name + ".md", Body: docs.Markdown(c)},
		{Path: name + ".html", Body: html},
	}, nil
}

// slug makes a file name of a title.
func slug(title string) string {
	plain := strings.Map(func(r rune) rune {
		if i := strings.IndexRune(accented, r); i >= 0 {
			return []rune(unaccented)[len([]rune(accented[:i]))]
		}
		return r
	}, strings.ToLower(title))
	words := strings.FieldsFunc(plain, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	name := strings.Join(words, "-")
	if name == "" {
		return "contract"
	}
	return strings.TrimRight(name[:min(len(name), 60)], "-")
}

const (
	accented   = "àáâãäåçèéêëìíîïñòóôõöùúûüýÿ"
	unaccented = "aaaaaaceeeeiiiinooooouuuuyy"
)
