package tree

import (
	"fmt"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Drift reports where the user's code in a folder no longer fits what would be
// written for him today: a type, method or test function that generated code
// needs is missing, or has another signature. It reads the syntax only, so it
// says nothing about what it cannot know, such as promoted methods.
func Drift(root *os.Root, files []File, folder string, problems *diag.List) {
	packages := newPackages(root)
	broken := map[string]bool{}
	for _, f := range files {
		if !f.Once || path.Dir(f.Path) != folder || path.Ext(f.Path) != ".go" {
			continue
		}
		want, err := parse(f.Path, f.Body)
		if err != nil {
			continue
		}
		name := want.syntax.Name.Name
		have := packages.folder(folder)[name]
		if have == nil {
			continue // nothing is written yet
		}
		if len(have.broken) > 0 {
			if !broken[name] {
				for _, p := range have.broken {
					problems.Add(p)
				}
			}
			broken[name] = true
			continue // whatever is missing may be in what cannot be read
		}
		d := drift{want: newPkg(want), have: have, path: f.Path, problems: problems}
		if d.begun() {
			d.compare()
		}
	}
}

// drift compares one file as it would be with the package as it is.
type drift struct {
	want, have *pkg
	path       string
	problems   *diag.List
}

// begun reports whether the file, or some of it, is there: else it will be
// written.
func (d *drift) begun() bool {
	_, ok := d.place()
	return ok
}

// place is where to say that something is missing: in the file if it is there,
// else where the user has moved the rest.
func (d *drift) place() (diag.Pos, bool) {
	var first *decl
	for _, name := range slices.Sorted(maps.Keys(d.want.decls)) {
		if found := d.have.decls[name]; found != nil && (first == nil || found.pos.File == d.path) {
			first = found
		}
	}
	if first != nil {
		return first.pos, true
	}
	// Everything may be renamed: any declaration of the file tells.
	for _, found := range d.have.decls {
		if found.pos.File == d.path {
			return found.file.pos(found.file.syntax.Name.Pos()), true
		}
	}
	return diag.Pos{}, false
}

func (d *drift) compare() {
	test := strings.HasSuffix(d.path, "_test.go")
	for _, name := range slices.Sorted(maps.Keys(d.want.decls)) {
		want, have := d.want.decls[name], d.have.decls[name]
		switch {
		case want.fn != nil && !test:
			// A constructor is the user's, who gives it to Wire as he likes.
		case have == nil:
			at, _ := d.place()
			d.problems.Addf(diag.DriftMissing, at, "add it; generated code uses it", "the package does not declare %s", describe(want))
		case want.fn != nil:
			d.signature(want, have, name)
		case want.typ != nil:
			d.methods(name, have)
		}
	}
}

// methods checks those of a type.
func (d *drift) methods(name string, typ *decl) {
	if typ.typ == nil || typ.typ.Assign.IsValid() {
		return // an alias: its methods are elsewhere
	}
	for _, method := range slices.Sorted(maps.Keys(d.want.methods[name])) {
		want, have := d.want.methods[name][method], d.have.methods[name][method]
		switch {
		case have != nil:
			d.signature(want, have, name+"."+method)
		case !promotes(typ.typ):
			d.problems.Addf(diag.DriftMissing, typ.pos, "add the method", "%s does not have the method that the contract asks for: expected %s",
				name, describe(want))
		}
	}
}

func (d *drift) signature(want, have *decl, name string) {
	if have.fn == nil {
		d.problems.Addf(diag.DriftChanged, have.pos, "", "%s must be a function: expected %s", name, describe(want))
		return
	}
	expected, ok := signature(want, d.want)
	found, ok2 := signature(have, d.have)
	if !ok || !ok2 || expected == found {
		return
	}
	d.problems.Addf(diag.DriftChanged, have.pos, "change it to what is expected", "%s does not fit the contract: expected %s, found %s",
		name, types.ExprString(want.fn.Type), types.ExprString(have.fn.Type))
}

// describe shows a declaration in a message.
func describe(d *decl) string {
	switch {
	case d.fn != nil:
		return fmt.Sprintf("func %s%s", d.name, strings.TrimPrefix(types.ExprString(d.fn.Type), "func"))
	case d.typ != nil:
		return "type " + d.name
	default:
		return "var " + d.name
	}
}
