package tree

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

// packages knows what the user's Go files declare, folder by folder. Files
// with our header, or Wire's, do not count.
type packages struct {
	root    *os.Root
	folders map[string]map[string]*pkg // by folder, then by package name
}

func newPackages(root *os.Root) *packages {
	return &packages{root: root, folders: map[string]map[string]*pkg{}}
}

// pkg is a Go package as its files have it, whatever their build constraints.
type pkg struct {
	decls map[string]*decl // functions, types, variables, constants
	// methods by receiver type, then by name.
	methods map[string]map[string]*decl
	files   []*goFile
	// broken are the places of syntax errors, one for each file.
	broken []diag.Problem
}

// decl is something that is declared.
type decl struct {
	name string
	pos  diag.Pos
	file *goFile
	fn   *ast.FuncDecl // of functions and methods
	typ  *ast.TypeSpec // of types
}

// goFile is a parsed file.
type goFile struct {
	path    string
	fset    *token.FileSet
	syntax  *ast.File
	imports map[string]string // by the name that the file uses
	dot     bool              // it imports names without their package
}

func (f *goFile) pos(at token.Pos) diag.Pos {
	p := f.fset.Position(at)
	return diag.Pos{File: f.path, Line: p.Line, Col: p.Column}
}

func parse(name string, body []byte) (*goFile, error) {
	f := &goFile{path: name, fset: token.NewFileSet(), imports: map[string]string{}}
	syntax, err := parser.ParseFile(f.fset, name, body, parser.SkipObjectResolution)
	f.syntax = syntax
	if syntax == nil {
		return f, err
	}
	for _, spec := range syntax.Imports {
		target := strings.Trim(spec.Path.Value, "\"`")
		switch {
		case spec.Name == nil:
			f.imports[defaultName(target)] = target
		case spec.Name.Name == ".":
			f.dot = true
		default:
			f.imports[spec.Name.Name] = target
		}
	}
	return f, err
}

// defaultName is the name that a package most likely has.
func defaultName(target string) string {
	base := path.Base(target)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(target))
	}
	return base
}

// folder returns the packages of a folder.
func (p *packages) folder(dir string) map[string]*pkg {
	if found, ok := p.folders[dir]; ok {
		return found
	}
	found := map[string]*pkg{}
	p.folders[dir] = found
	entries, err := fs.ReadDir(p.root.FS(), dir)
	if err != nil {
		return found // it is not there yet
	}
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) != ".go" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || !e.Type().IsRegular() {
			continue
		}
		body, err := p.root.ReadFile(path.Join(dir, name))
		if err != nil || Owned(body) || bytes.HasPrefix(body, []byte(wireHeader)) {
			continue
		}
		f, err := parse(path.Join(dir, name), body)
		if f.syntax == nil || f.syntax.Name == nil {
			continue
		}
		in := found[f.syntax.Name.Name]
		if in == nil {
			in = newPkg()
			found[f.syntax.Name.Name] = in
		}
		if err != nil {
			in.broken = append(in.broken, syntaxProblem(f.path, err))
		}
		in.add(f)
	}
	return found
}

func syntaxProblem(name string, err error) diag.Problem {
	out := diag.Problem{Code: diag.UserSyntax, Pos: diag.Pos{File: name}, Message: err.Error()}
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 {
		out.Pos.Line, out.Pos.Col, out.Message = list[0].Pos.Line, list[0].Pos.Column, list[0].Msg
	}
	return out
}

// newPkg is a package of the given files.
func newPkg(files ...*goFile) *pkg {
	p := &pkg{decls: map[string]*decl{}, methods: map[string]map[string]*decl{}}
	for _, f := range files {
		p.add(f)
	}
	return p
}

func (p *pkg) add(f *goFile) {
	p.files = append(p.files, f)
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			one := &decl{name: d.Name.Name, pos: f.pos(d.Name.Pos()), file: f, fn: d}
			if receiver := receiverOf(d); receiver == "" {
				p.decls[one.name] = one
			} else {
				if p.methods[receiver] == nil {
					p.methods[receiver] = map[string]*decl{}
				}
				p.methods[receiver][one.name] = one
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					p.decls[s.Name.Name] = &decl{name: s.Name.Name, pos: f.pos(s.Name.Pos()), file: f, typ: s}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						p.decls[n.Name] = &decl{name: n.Name, pos: f.pos(n.Pos()), file: f}
					}
				}
			}
		}
	}
	delete(p.decls, "_")
	delete(p.decls, "init")
}

// receiverOf returns the name of a method's receiver type, "" for a function.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return ""
	}
	for t := d.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// declares reports whether the user has something of f's in another file of
// its package: then he has moved it there, and f would declare it twice.
func (p *packages) declares(f File) bool {
	if path.Ext(f.Path) != ".go" {
		return false
	}
	want, err := parse(f.Path, f.Body)
	if err != nil {
		return false
	}
	have := p.folder(path.Dir(f.Path))[want.syntax.Name.Name]
	if have == nil {
		return false
	}
	for name := range newPkg(want).decls {
		if have.decls[name] != nil {
			return true
		}
	}
	return false
}
