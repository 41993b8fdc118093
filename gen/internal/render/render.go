// Package render turns a checked contract into the files of a project. It is
// pure: nothing is read from or written to a disk, and every file is complete
// before the first is handed out.
package render

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"text/template"

	"github.com/idem-go/idem/gen/internal/model"
)

// Settings say where the files of a project go. Folders are relative to the
// project's root, with slashes; "." is the root.
type Settings struct {
	// Module is the import path of the root.
	Module string
	// Messages, Handlers, Wiring and Main are the folders of Go packages;
	// Wiring has one below it for each transport.
	Messages, Handlers, Wiring, Main string
	// Transports are sqlite, postgres, kafka, kafkasqlite or memory; the first
	// is the one that the sample of the configuration chooses.
	Transports []string
	// OwnTypes says that the contract is made of Go types which are in the
	// folder of the messages already.
	OwnTypes bool
	// Package is the name of the package in the folder of the messages; ""
	// is made of the folder's.
	Package string
	// Previous holds, by an operation's ID, the recipes of its key that are
	// still looked up, the newest first.
	Previous map[string][]Recipe
}

// Recipe is a former recipe of a key.
type Recipe struct {
	Parts       []model.KeyPart
	Version     int
	Fingerprint model.Fingerprint
}

// Owner says who may change a file.
type Owner int

// The owners.
const (
	// Generated files are idemgen's: they are overwritten.
	Generated Owner = iota
	// User files are written once and never touched again.
	User
)

// File is a file to write.
type File struct {
	// Path is relative to the project's root, with slashes.
	Path  string
	Body  []byte
	Owner Owner
	// Source is the place in the contract that it comes from, file#pointer.
	Source string
	// Operation is the ID of the operation that a User file belongs to; ""
	// if it belongs to all of them.
	Operation string
}

// Files renders all files of a project, sorted by path. An error is a defect
// of idemgen, not of the contract.
func Files(c *model.Contract, s Settings) ([]File, error) {
	r, err := newRenderer(c, s)
	if err != nil {
		return nil, err
	}
	r.messages()
	r.operations()
	r.handlers()
	r.tests()
	r.wiring()
	r.program()
	r.config()
	if r.err != nil {
		return nil, r.err
	}
	slices.SortFunc(r.files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return r.files, nil
}

// renderer collects the files of one run.
type renderer struct {
	contract  *model.Contract
	settings  Settings
	templates *template.Template
	ops       []*operation
	// pkg and handlersPkg are the names of packages, msgs and handling those
	// under which others import them.
	pkg, msgs, handlersPkg, handling string
	files                            []File
	err                              error
}

func newRenderer(c *model.Contract, s Settings) (*renderer, error) {
	t, err := templates()
	if err != nil {
		return nil, err
	}
	r := &renderer{contract: c, settings: s, templates: t}
	r.pkg = cmp.Or(s.Package, packageName(s.Module, s.Messages))
	r.msgs = importName(r.pkg, "msg")
	r.handlersPkg = packageName(s.Module, s.Handlers)
	if r.handling = importName(r.handlersPkg, "handlers"); r.handling == r.msgs {
		r.handling += "handlers"
	}
	r.ops = newOperations(c, s)
	return r, r.checkNames()
}

func (r *renderer) add(f File) { r.files = append(r.files, f) }

// importPath is that of a folder.
func (r *renderer) importPath(folder string) string { return path.Join(r.settings.Module, folder) }

// messages renders the types.
func (r *renderer) messages() {
	body, err := Messages(r.contract, r.pkg)
	if err != nil {
		r.err = fmt.Errorf("messages: %w", err)
		return
	}
	r.add(File{Path: path.Join(r.settings.Messages, "messages_gen.go"), Body: body, Source: r.contract.Source})
}

// checkNames makes sure that no name of the messages' package is given twice.
// The inputs choose the names; this is the last guard before code that does
// not compile.
func (r *renderer) checkNames() error {
	seen := map[string]string{}
	var err error
	claim := func(name, what string) {
		if other, ok := seen[name]; ok && err == nil {
			err = fmt.Errorf("%s and %s are both called %s in Go", other, what, name)
		}
		seen[name] = what
	}
	for _, t := range r.contract.Types {
		claim(t.Name, "the type "+t.Name)
		if !t.Declared {
			for _, e := range t.Enum {
				claim(e.GoName, "a value of "+t.Name)
			}
		}
	}
	for _, name := range []string{"Handlers", "Register", "Set"} {
		claim(name, "what every contract has,")
	}
	for _, o := range r.ops {
		what := "operation " + o.ID
		claim(o.GoName, what)
		claim(o.GoName+"Operation", what)
		claim(o.GoName+"Handler", what)
		if o.Wrapped {
			claim(o.Payload, what)
		}
	}
	for _, e := range emitters(r.contract) {
		claim(e.Name, "send operation "+e.send.ID)
	}
	for _, m := range r.contract.Messages {
		if m.Headers != nil {
			claim(m.GoName+"HeadersFrom", "message "+m.Name)
		}
	}
	return err
}
