// Package gen is idemgen as a library: it reads a project's contract and
// writes, checks and documents the code that follows from it. Command idemgen
// is a thin shell around it.
package gen

import (
	"errors"
	"fmt"

	"github.com/idem-go/idem/gen/internal/lock"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/render"
	"github.com/idem-go/idem/gen/internal/scaffold"
	"github.com/idem-go/idem/gen/internal/settings"
	"github.com/idem-go/idem/gen/internal/tree"
)

// Options say which project it is about, and how. The zero value is that of
// the working directory.
type Options struct {
	// Config is the path of idemgen.yaml; "" means idemgen.yaml in the working
	// directory. Its folder is the root of the project, outside which nothing
	// is read or written, but for the go.mod of a module that begins above.
	Config string
	// ForgetPrevious lists operations whose former key recipes are no longer
	// looked up, once the records under them have expired.
	ForgetPrevious []string
}

// Generate brings the files of a project up to date. It writes nothing if the
// contract is wrong or a file is in the way. What the user's own code lacks is
// in the report as well, but stops nothing: the new types have to be there
// before the user can adapt to them. The error is one of usage or I/O.
func Generate(o Options) (*Report, error) {
	return run(o, func(p *project) error {
		plan, err := p.plan(o)
		if plan == nil || err != nil {
			return err
		}
		p.report.Changes = plan.Changes()
		return plan.Apply()
	})
}

// Check reports what Generate would, and changes nothing: the report's Diff is
// empty if the files are up to date. The error is one of usage or I/O.
func Check(o Options) (*Report, error) {
	return run(o, func(p *project) error {
		plan, err := p.plan(o)
		if plan == nil || err != nil {
			return err
		}
		p.report.Changes = plan.Changes()
		p.report.Diff = plan.Diff(p.report.prefix)
		return nil
	})
}

// Lint reports every problem of the settings, the contract, the key recipes
// and the user's code. It does not ask whether the generated files are up to
// date. The error is one of usage or I/O.
func Lint(o Options) (*Report, error) {
	return run(o, func(p *project) error {
		_, err := p.plan(o)
		return err
	})
}

// plan compares the project with what it should be. It returns nil if that
// cannot be, after reporting why.
func (p *project) plan(o Options) (*tree.Plan, error) {
	s, c := p.load()
	name := lock.FileName(p.config)
	was, locked := lock.Read(p.root.FS(), p.set, p.problems, name)
	if c == nil || was == nil {
		return nil, nil
	}
	operations := was.Advance(c.Operations, p.problems, p.warnings)
	for _, id := range o.ForgetPrevious {
		op, ok := operations[id]
		if !ok {
			return nil, fmt.Errorf("there is no operation %q whose former recipes could be forgotten", id)
		}
		op.Previous = nil
		operations[id] = op
	}
	files, err := p.files(s, c, operations)
	if err != nil {
		return nil, err
	}
	if !locked {
		tree.Unlocked(p.root, files, name, p.problems)
	}
	plan, err := tree.Compare(p.root, files, was, p.problems, p.warnings)
	if err != nil {
		return nil, err
	}
	p.unwired(s)
	stop := p.problems.Len() > 0
	tree.Drift(p.root, files, s.Handlers, p.problems)
	tree.Uses(p.root, p.module, files, p.problems)
	tree.Provided(p.root, files, s.Handlers, p.problems)
	if stop {
		return nil, nil
	}
	return plan, plan.Lock(name, operations)
}

// files renders everything.
func (p *project) files(s *settings.Settings, c *model.Contract, operations map[string]lock.Operation) ([]tree.File, error) {
	to := render.Settings{
		Module:   p.module,
		Messages: s.Messages, Handlers: s.Handlers, Wiring: s.Wiring, Main: s.Main,
		Transports: s.Transports,
		OwnTypes:   s.Go != "",
		Previous:   map[string][]render.Recipe{},
	}
	for id, o := range operations {
		for _, r := range o.Lookups() {
			to.Previous[id] = append(to.Previous[id], render.Recipe{Parts: r.Parts(), Version: r.Version, Fingerprint: r.ModelFingerprint()})
		}
	}
	rendered, err := render.Files(c, to)
	if err != nil {
		return nil, fmt.Errorf("this is a defect of idemgen: %w", err)
	}
	if _, err := p.root.Stat("go.mod"); err == nil { // else its servers are the affair of a larger project
		compose, ok, err := scaffold.Compose(s.Transports)
		if err != nil {
			return nil, err
		}
		if ok {
			rendered = append(rendered, compose)
		}
	}
	out := treeFiles(rendered)
	if s.KeepDocs {
		docs, err := p.docs(s, c)
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
	}
	return out, nil
}

func treeFiles(rendered []render.File) []tree.File {
	out := make([]tree.File, 0, len(rendered))
	for _, f := range rendered {
		out = append(out, tree.File{Path: f.Path, Body: f.Body, Once: f.Owner == render.User, Operation: f.Operation})
	}
	return out
}

var errNoConfig = errors.New("run idemgen init to begin a project, or say with -config where it is")
