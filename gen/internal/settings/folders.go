package settings

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

type pathKind int

const (
	anyFile pathKind = iota
	anyFolder
	goFolder
)

// element is a folder name that the go command does not skip.
var element = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*$`)

// path reads a file or folder inside the project's root.
func (l *loader) path(n *source.Node, out *string, kind pathKind) {
	text := n.Text
	fail := func(fix, format string, args ...any) { l.problems.Addf(diag.BadFolder, n.Pos, fix, format, args...) }
	switch {
	case n.Kind != source.String || text == "":
		fail("", "must be a path, is %s", quoted(n))
		return
	case path.IsAbs(text) || strings.ContainsAny(text, "\\:\x00"):
		fail("relative to the folder of idemgen.yaml, with slashes", "%q must be a relative path", text)
		return
	}
	clean := path.Clean(text)
	switch {
	case !fs.ValidPath(clean):
		fail("choose a place below the folder of idemgen.yaml", "%q is outside the project", text)
		return
	case kind == anyFile && clean == ".":
		fail("", "%q is a folder", text)
		return
	}
	if kind == goFolder && clean != "." {
		for _, e := range strings.Split(clean, "/") {
			if !element.MatchString(e) || e == "vendor" || e == "testdata" {
				fail("choose another name", "%q is no folder for a Go package: the go command skips or refuses %q", text, e)
				return
			}
		}
	}
	if err := l.inside(clean, kind); err != nil {
		fail("choose a place below the folder of idemgen.yaml", "%q %s", text, err)
		return
	}
	*out = clean
}

// inside follows symbolic links: what is there must be in the project too, and
// a folder where one is asked for.
func (l *loader) inside(name string, kind pathKind) error {
	info, err := l.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // a folder is made; a contract that is missing is reported when it is read
	case err != nil && strings.Contains(err.Error(), "escapes"):
		return errors.New("is a symbolic link out of the project")
	case err != nil:
		return errors.New("cannot be used: " + reason(err))
	case kind != anyFile && !info.IsDir():
		return errors.New("is a file, not a folder")
	}
	return nil
}

func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// clashes reports settings that do not go together.
func (l *loader) clashes(n *source.Node) {
	contract, goInput := n.Field("contract"), n.Field("go")
	switch {
	case contract != nil && goInput != nil:
		l.problems.Add(diag.Problem{
			Code: diag.SettingsClash, Pos: goInput.NamePos, Message: "contract and go exclude each other", Fix: "keep one",
			Related: []diag.Related{{Pos: contract.NamePos, Note: "the other is here"}},
		})
	case contract == nil && goInput == nil:
		l.problems.Addf(diag.SettingsClash, n.Pos, "add contract: asyncapi.yaml, or go: and the folder of a Go package", "there is no contract")
	}
	// With a contract in Go the messages' package is the contract's.
	if l.out.Go != "" {
		if m := n.Get("messages"); m == nil {
			l.out.Messages = l.out.Go
		} else if l.out.Messages != l.out.Go {
			l.problems.Addf(diag.SettingsClash, m.Pos, "leave messages out", "the messages are in %q already, the Go package that is the contract", l.out.Go)
		}
	}
	folders := []struct{ name, folder string }{
		{"messages", l.out.Messages}, {"handlers", l.out.Handlers}, {"main", l.out.Main}, {"wiring", l.out.Wiring},
	}
	for _, t := range l.out.Transports {
		folders = append(folders, struct{ name, folder string }{"wiring", path.Join(l.out.Wiring, t)})
	}
	for i, b := range folders {
		for _, a := range folders[:i] {
			if a.name != b.name && strings.EqualFold(a.folder, b.folder) {
				at := n.Pos
				if f := n.Field(b.name); f != nil {
					at = f.Value.Pos
				} else if f := n.Field(a.name); f != nil {
					at = f.Value.Pos
				}
				l.problems.Addf(diag.SettingsClash, at, "give each a folder of its own", "%s and %s are both in %q", a.name, b.name, b.folder)
			}
		}
	}
}
