package lock

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

const restore = "restore it from version control, then generate again"

// Read reads the lock from a file in the project's root. It reports what is
// wrong to problems and then returns nil; ok is false if there is no such file.
func Read(root fs.FS, set *source.Set, problems *diag.List, name string) (l *Lock, ok bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil && !isThere(root, name) {
		return &Lock{}, false
	}
	if err == nil {
		if line := conflict(string(text)); line > 0 {
			problems.Addf(diag.BadLock, diag.Pos{File: name, Line: line, Col: 1},
				"keep the operations of both sides, for one that both changed the one with the higher keyVersion, then generate again",
				"the file has an unresolved merge conflict")
			return nil, true
		}
	}
	before := problems.Len()
	file := set.Load(name, diag.Pos{File: name})
	if file == nil {
		return nil, true
	}
	r := reader{problems: problems}
	if l = r.lock(file.Root); problems.Len() > before {
		return nil, true
	}
	return l, true
}

func isThere(root fs.FS, name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil
}

// conflict returns the line of the first conflict marker, 0 if there is none.
func conflict(text string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return i + 1
		}
	}
	return 0
}

type reader struct {
	problems *diag.List
	failed   bool
}

func (r *reader) fail(at diag.Pos, format string, args ...any) {
	r.failed = true
	r.problems.Addf(diag.BadLock, at, restore, format, args...)
}

// object reports members of n that are not known and required ones that are
// missing.
func (r *reader) object(n *source.Node, what string, required []string, optional ...string) bool {
	if n.Kind != source.Map {
		r.fail(n.Pos, "%s must be an object, is %s", what, n.Kind)
		return false
	}
	for _, f := range n.Fields {
		if !slices.Contains(required, f.Name) && !slices.Contains(optional, f.Name) {
			r.fail(f.NamePos, "%s has an unknown member %q", what, f.Name)
		}
	}
	for _, name := range required {
		if n.Get(name) == nil {
			r.fail(n.Pos, "%s has no %s", what, name)
		}
	}
	return true
}

func (r *reader) lock(n *source.Node) *Lock {
	l := &Lock{Operations: map[string]Operation{}}
	if !r.object(n, "the lock", []string{"version"}, "operations", "files", "user") {
		return l
	}
	if v := n.Get("version"); v != nil && v.Text != "1" {
		r.fail(v.Pos, "version %s of the lock is unknown: a newer idemgen has written it", v.Text)
	}
	if ops := n.Get("operations"); ops != nil {
		if ops.Kind != source.Map {
			r.fail(ops.Pos, "operations must be an object, is %s", ops.Kind)
			return l
		}
		for _, f := range ops.Fields {
			l.Operations[f.Name] = r.operation(f.Value, f.Name)
		}
	}
	l.Files, l.User = r.files(n.Get("files")), r.user(n.Get("user"))
	return l
}

func (r *reader) operation(n *source.Node, id string) Operation {
	what := "operation " + strconv.Quote(id)
	if !r.object(n, what, recipeMembers, "fingerprint", "retired", "previous") {
		return Operation{}
	}
	o := Operation{Recipe: r.recipe(n, what)}
	if v := n.Get("retired"); v != nil {
		o.Retired = v.Kind == source.Bool && v.Text == "true"
	}
	if list := n.Get("previous"); list != nil {
		for _, item := range list.Items {
			if r.object(item, "a previous recipe of "+what, recipeMembers, "fingerprint") {
				o.Previous = append(o.Previous, r.recipe(item, what))
			}
		}
	}
	return o
}

var recipeMembers = []string{"scope", "key", "keyVersion", "hash"}

func (r *reader) recipe(n *source.Node, what string) Recipe {
	var out Recipe
	if scope := n.Get("scope"); scope != nil {
		out.Scope = scope.Text
	}
	key := n.Get("key")
	if key != nil {
		for _, part := range key.Items {
			if !strings.HasPrefix(part.Text, headerPrefix) && !strings.HasPrefix(part.Text, payloadPrefix) {
				r.fail(part.Pos, "%s has a key part that is neither of a header nor of the payload", what)
			}
			out.Key = append(out.Key, part.Text)
		}
	}
	if f := n.Get("fingerprint"); f != nil {
		for _, part := range f.Items {
			if part.Text != noFingerprint && !strings.HasPrefix(part.Text, payloadPrefix) {
				r.fail(part.Pos, "%s has a part of a fingerprint that is neither %s nor of the payload", what, noFingerprint)
			}
			out.Fingerprint = append(out.Fingerprint, part.Text)
		}
	}
	if v := n.Get("keyVersion"); v != nil {
		version, err := strconv.Atoi(v.Text)
		if err != nil || version < 1 {
			r.fail(v.Pos, "the keyVersion of %s must be a number from 1", what)
		}
		out.Version = version
	}
	if hash := n.Get("hash"); hash != nil && !r.failed && hash.Text != out.Hash() {
		r.fail(hash.Pos, "the hash of %s does not fit its recipe: somebody has changed the file by hand", what)
	}
	return out
}

func (r *reader) files(n *source.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind != source.List {
		r.fail(n.Pos, "files must be a list, is %s", n.Kind)
		return nil
	}
	var out []string
	for _, item := range n.Items {
		r.path(item.Pos, item.Text)
		out = append(out, item.Text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *reader) user(n *source.Node) map[string]string {
	if n == nil {
		return nil
	}
	if n.Kind != source.Map {
		r.fail(n.Pos, "user must be an object, is %s", n.Kind)
		return nil
	}
	out := map[string]string{}
	for _, f := range n.Fields {
		r.path(f.NamePos, f.Name)
		out[f.Name] = f.Value.Text
	}
	return out
}

// path reports what is no file in the project: it might be deleted.
func (r *reader) path(at diag.Pos, text string) {
	if !fs.ValidPath(text) || text == "." {
		r.fail(at, "%q is no file of the project", text)
	}
}
