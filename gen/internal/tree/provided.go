package tree

import (
	"go/ast"
	"go/types"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Provided reports handlers that the user's provider sets do not give to Wire.
// What is expected is in the files as they would be written today, where each
// handler has its constructor and its binding in a set in the folder.
func Provided(root *os.Root, files []File, folder string, problems *diag.List) {
	packages := newPackages(root)
	given := map[string]bool{}
	var want []*ast.CallExpr
	var home *pkg
	seen := map[string]bool{}
	for _, f := range files {
		dir := path.Dir(f.Path)
		if !f.Once || path.Ext(f.Path) != ".go" {
			continue
		}
		if parsed, err := parse(f.Path, f.Body); err == nil && dir == folder {
			home = packages.folder(dir)[parsed.syntax.Name.Name]
			want = append(want, wireCalls(parsed)...)
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, in := range packages.folder(dir) {
			for _, file := range in.files {
				file.provides(in, given)
			}
		}
	}
	if home == nil || len(home.broken) > 0 || home.decls["Set"] == nil {
		return // it is to be written, or the user assembles handlers in another way
	}
	for _, call := range want {
		for i := 0; i+1 < len(call.Args); i += 2 {
			constructor, binding := types.ExprString(call.Args[i]), types.ExprString(call.Args[i+1])
			handler := strings.TrimPrefix(constructor, "New")
			if given[constructor] || given[handler] {
				continue
			}
			problems.Addf(diag.DriftUnwired, home.decls["Set"].pos, "add the line "+strconv.Quote(constructor+", "+binding+","),
				"Set does not provide %s: Wire cannot build the program", handler)
		}
	}
}

// provides notes the names in what the file gives to Wire, and what functions
// among them return.
func (f *goFile) provides(in *pkg, given map[string]bool) {
	for _, call := range wireCalls(f) {
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				given[id.Name] = true
				if d := in.decls[id.Name]; d != nil && d.fn != nil && d.fn.Type.Results != nil {
					ast.Inspect(d.fn.Type.Results, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							given[id.Name] = true
						}
						return true
					})
				}
				return true
			})
		}
	}
}

// wireCalls are the file's calls of wire.NewSet and wire.Build.
func wireCalls(f *goFile) (calls []*ast.CallExpr) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "NewSet" && s.Sel.Name != "Build" {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && f.imports[x.Name] == "github.com/google/wire" {
			calls = append(calls, call)
		}
		return true
	})
	return calls
}
