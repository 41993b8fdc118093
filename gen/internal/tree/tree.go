// Package tree puts generated files on the disk: it compares what should be
// there with what is, and then writes it or shows the difference. It knows two
// kinds of file. Generated ones carry our header, and only those are ever
// overwritten or deleted. The user's are written once and never touched again.
package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/lock"
)

// File is a file that should be there.
type File struct {
	// Path is relative to the project's root, with slashes.
	Path string
	Body []byte
	// Once makes it the user's: it is written if it is not there.
	Once bool
	// Operation is the id of the one that a user's file is about; may be "".
	Operation string
}

// Plan is what has to change so that the tree is as it should be.
type Plan struct {
	root *os.Root
	// Files and User are for the lock.
	Files []string
	User  map[string]string

	changes []change // sorted by path
	lock    *change  // of the lock's file; nil if it stays
	next    *lock.Lock
}

// change of a file. A nil body means that there is no file.
type change struct {
	path     string
	old, new []byte
	mode     fs.FileMode
}

// Compare plans how the tree becomes one with the files. What idemgen must not
// overwrite it reports to problems; such a plan must not be applied. Leftovers
// that are the user's to delete go to warnings. The error is one of reading.
func Compare(root *os.Root, files []File, was *lock.Lock, problems, warnings *diag.List) (*Plan, error) {
	p := &Plan{root: root, User: map[string]string{}}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	distinct(files, problems)
	planned := map[string]bool{}
	packages := newPackages(root)
	for _, f := range files {
		planned[f.Path] = true
		if f.Once {
			p.User[f.Path] = f.Operation
		} else {
			p.Files = append(p.Files, f.Path)
		}
		if err := p.file(f, was, packages, problems); err != nil {
			return nil, err
		}
	}
	if err := p.orphans(was, planned, warnings); err != nil {
		return nil, err
	}
	slices.SortFunc(p.changes, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return p, nil
}

// distinct reports files that would be one on some disk.
func distinct(files []File, problems *diag.List) {
	seen := map[string]string{}
	for _, f := range files {
		key := strings.ToLower(f.Path)
		if first, ok := seen[key]; ok {
			problems.Addf(diag.PathClash, diag.Pos{File: f.Path}, "rename what it is made from",
				"it would be the same file as %s, at least on disks that ignore case", first)
		}
		seen[key] = f.Path
	}
}

func (p *Plan) file(f File, was *lock.Lock, packages *packages, problems *diag.List) error {
	old, mode, err := p.read(f.Path)
	if errors.Is(err, errNoFolder) || errors.Is(err, errInTheWay) {
		problems.Addf(diag.Foreign, diag.Pos{File: f.Path}, "move it away, or choose another folder in idemgen.yaml", "refusing to overwrite: %s", err)
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case old == nil && f.Once && packages.declares(f):
		delete(p.User, f.Path) // the user has moved it to another file
	case old == nil && f.Once && f.Operation == "" && written(was, f.Path): // the user has deleted it
	case old == nil:
		p.changes = append(p.changes, change{path: f.Path, new: f.Body, mode: 0o644})
	case f.Once || bytes.Equal(old, f.Body):
	case !Owned(old):
		problems.Addf(diag.Foreign, diag.Pos{File: f.Path}, "move it away, or choose another folder in idemgen.yaml",
			"refusing to overwrite: idemgen has not written this file, it does not begin with %q", header)
	default:
		p.changes = append(p.changes, change{path: f.Path, old: old, new: f.Body, mode: mode})
	}
	return nil
}

// written reports whether a user's file was written by an earlier run.
func written(was *lock.Lock, name string) bool {
	_, ok := was.User[name]
	return ok
}

// orphans plans to delete what idemgen has written and no longer would.
func (p *Plan) orphans(was *lock.Lock, planned map[string]bool, warnings *diag.List) error {
	for _, name := range was.Files {
		if planned[name] {
			continue
		}
		old, mode, err := p.read(name)
		if err != nil && !errors.Is(err, errNoFolder) && !errors.Is(err, errInTheWay) {
			return err
		}
		if old == nil {
			continue
		}
		if !Owned(old) {
			warnings.Addf(diag.Leftover, diag.Pos{File: name}, "delete it if you do not need it",
				"it was generated and is no longer, but somebody has made it his own: it stays")
			continue
		}
		p.changes = append(p.changes, change{path: name, old: old, mode: mode})
		if path.Base(name) == "wire.go" {
			if err := p.injector(path.Join(path.Dir(name), "wire_gen.go")); err != nil {
				return err
			}
		}
	}
	for name, operation := range was.User {
		if _, ok := p.User[name]; ok || planned[name] {
			continue
		}
		if _, err := p.root.Lstat(name); err != nil {
			continue
		}
		p.User[name] = operation
		what := "nothing in the contract or idemgen.yaml needs this file any more"
		if operation != "" {
			what = fmt.Sprintf("the file is about operation %s, which is no longer in the contract", operation)
		}
		warnings.Addf(diag.Leftover, diag.Pos{File: name}, "delete it; idemgen does not, because it is yours", "%s", what)
	}
	return nil
}

// injector plans to delete what Wire has made of a wire.go of ours that goes:
// it would not compile without it.
func (p *Plan) injector(name string) error {
	old, mode, err := p.read(name)
	switch {
	case errors.Is(err, errNoFolder), errors.Is(err, errInTheWay):
		return nil
	case err != nil:
		return err
	case bytes.HasPrefix(old, []byte(wireHeader)):
		p.changes = append(p.changes, change{path: name, old: old, mode: mode})
	}
	return nil
}

var (
	errInTheWay = errors.New("there is something that is not a file")
	errNoFolder = errors.New("is not a folder of the project")
)

// read returns nil without an error if there is no file.
func (p *Plan) read(name string) ([]byte, fs.FileMode, error) {
	info, err := p.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil && blocked(p.root, name) != "":
		return nil, 0, fmt.Errorf("%s %w", blocked(p.root, name), errNoFolder)
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errInTheWay
	}
	body, err := p.root.ReadFile(name)
	if body == nil {
		body = []byte{}
	}
	return body, info.Mode().Perm(), err
}

// blocked returns what above name is a file, or leads out of the project; "" if
// nothing does.
func blocked(root *os.Root, name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return dir
		} else if err == nil {
			break
		}
	}
	return ""
}

// Unlocked reports that the lock, a file with that name, is gone if files that it was about are there:
// without it nobody knows under which recipes records were stored.
func Unlocked(root *os.Root, files []File, name string, problems *diag.List) {
	p := &Plan{root: root}
	for _, f := range files {
		if f.Once || path.Ext(f.Path) != ".go" {
			continue
		}
		if old, _, err := p.read(f.Path); err == nil && Owned(old) {
			problems.Addf(diag.LockMissing, diag.Pos{File: name},
				"restore it from version control; if the project has never run anywhere, delete "+f.Path+" and its like instead",
				"the file is gone, and with it the key recipes that %s and other generated files were made with", f.Path)
			return
		}
	}
}
