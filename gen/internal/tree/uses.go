package tree

import (
	"go/ast"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Uses reports where the user's code asks a generated package for a name that
// it does not have any more, since the contract has changed. Module is the
// import path of the root. It reads the syntax only, and says nothing about a
// file in which the package's name may mean something else.
func Uses(root *os.Root, module string, files []File, problems *diag.List) {
	packages := newPackages(root)
	declared := map[string]map[string]bool{} // by import path
	var folders []string
	for _, f := range files {
		dir := path.Dir(f.Path)
		if path.Ext(f.Path) != ".go" {
			continue
		}
		if !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
		if f.Once || strings.HasSuffix(f.Path, "_test.go") {
			continue
		}
		generated, err := parse(f.Path, f.Body)
		if err != nil {
			continue
		}
		names := declared[path.Join(module, dir)]
		if names == nil {
			names = packages.names(dir)
			declared[path.Join(module, dir)] = names
		}
		for name := range newPkg(generated).decls {
			names[name] = true
		}
	}
	slices.Sort(folders)
	for _, dir := range folders {
		for _, in := range packages.folder(dir) {
			for _, f := range in.files {
				f.uses(declared, problems)
			}
		}
	}
}

// names are what the user's files in a folder declare.
func (p *packages) names(dir string) map[string]bool {
	out := map[string]bool{}
	for _, in := range p.folder(dir) {
		for name := range in.decls {
			out[name] = true
		}
	}
	return out
}

// uses reports the file's uses of names that are not declared.
func (f *goFile) uses(declared map[string]map[string]bool, problems *diag.List) {
	own := f.binds()
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok || own[x.Name] {
			return true
		}
		names, ok := declared[f.imports[x.Name]]
		if ok && !names[s.Sel.Name] {
			problems.Addf(diag.DriftGone, f.pos(s.Pos()), "use what the contract has now, or delete this",
				"%s.%s is not generated: nothing in the contract has this name", x.Name, s.Sel.Name)
		}
		return true
	})
}

// binds are the names that mean something of the file's own somewhere in it.
func (f *goFile) binds() map[string]bool {
	own := map[string]bool{}
	add := func(list ...*ast.Ident) {
		for _, id := range list {
			own[id.Name] = true
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok {
					add(id)
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok {
					add(id)
				}
			}
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{n.Params, n.Results} {
				if list != nil {
					for _, field := range list.List {
						add(field.Names...)
					}
				}
			}
		case *ast.FuncDecl:
			if n.Recv != nil {
				for _, field := range n.Recv.List {
					add(field.Names...)
				}
			}
		}
		return true
	})
	return own
}
