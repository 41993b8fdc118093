package depcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// A sleep is no way to wait for something: too short on a busy machine, too long on any other. It is
// right while polling in a loop, in the fake time of testing/synctest, and where that span of time
// is what is tested; a comment on the same line then says so.
func TestSleepsAreExplained(t *testing.T) {
	for _, path := range goFiles(t) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler tells better
		}
		for _, pos := range unexplainedSleeps(fset, file) {
			t.Errorf("%s: time.Sleep outside of a loop or synctest: wait for what is meant to happen, or say on this line why the time matters", pos)
		}
	}
}

func unexplainedSleeps(fset *token.FileSet, file *ast.File) []token.Position {
	for _, imp := range file.Imports {
		if imp.Path.Value == `"testing/synctest"` {
			return nil
		}
	}
	explained := map[int]bool{}
	for _, group := range file.Comments {
		explained[fset.Position(group.Pos()).Line] = true
	}
	var found []token.Position
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if pos := fset.Position(n.Pos()); ok && pkg.Name == "time" && n.Sel.Name == "Sleep" && !explained[pos.Line] {
				found = append(found, pos)
			}
		}
		return true
	})
	return found
}

func TestUnexplainedSleeps(t *testing.T) {
	for _, tc := range []struct {
		name, imports, body string
		want                int
	}{
		{"waiting", ``, `time.Sleep(1)`, 1},
		{"polling", ``, `for !ok() { time.Sleep(1) }`, 0},
		{"polling in the loop's header", ``, `for ; !ok(); time.Sleep(1) {}`, 0},
		{"the span is what is tested", ``, `time.Sleep(1) // one lease long`, 0},
		{"the reason is somewhere else", ``, "time.Sleep(1)\n// one lease long", 1},
		{"fake time", `import "testing/synctest"`, `time.Sleep(1)`, 0},
		{"passed on", ``, `go wait(time.Sleep)`, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := strings.Join([]string{"package p", tc.imports, "func f() {", tc.body, "}"}, "\n")
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, "f.go", src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if got := unexplainedSleeps(fset, file); len(got) != tc.want {
				t.Errorf("got %v, want %d", got, tc.want)
			}
		})
	}
}
