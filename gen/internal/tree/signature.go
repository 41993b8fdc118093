package tree

import (
	"go/ast"
	"go/types"
	"strings"
)

// signature writes the type of a function so that two files agree about it
// whatever they call their parameters and imports. It returns false if the
// syntax alone does not tell.
func signature(d *decl, in *pkg) (string, bool) {
	s := signer{file: d.file, pkg: in, ok: !d.file.dot}
	s.function(d.fn.Type)
	return s.b.String(), s.ok
}

type signer struct {
	b     strings.Builder
	file  *goFile
	pkg   *pkg
	depth int
	ok    bool
}

func (s *signer) function(t *ast.FuncType) {
	s.b.WriteString("func(")
	s.fields(t.Params)
	s.b.WriteString(")(")
	s.fields(t.Results)
	s.b.WriteString(")")
}

func (s *signer) fields(list *ast.FieldList) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			s.expr(f.Type)
			s.b.WriteString(",")
		}
	}
}

func (s *signer) expr(e ast.Expr) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		s.expr(x.X)
	case *ast.StarExpr:
		s.b.WriteString("*")
		s.expr(x.X)
	case *ast.Ellipsis:
		s.b.WriteString("...")
		s.expr(x.Elt)
	case *ast.ArrayType:
		s.b.WriteString("[")
		if x.Len != nil {
			s.b.WriteString(types.ExprString(x.Len))
		}
		s.b.WriteString("]")
		s.expr(x.Elt)
	case *ast.MapType:
		s.b.WriteString("map[")
		s.expr(x.Key)
		s.b.WriteString("]")
		s.expr(x.Value)
	case *ast.FuncType:
		s.function(x)
	case *ast.SelectorExpr:
		s.selector(x)
	case *ast.IndexExpr:
		s.generic(x.X, x.Index)
	case *ast.IndexListExpr:
		s.generic(x.X, x.Indices...)
	case *ast.InterfaceType:
		if x.Methods.NumFields() == 0 {
			s.b.WriteString("any")
		} else {
			s.b.WriteString(types.ExprString(x))
		}
	case *ast.Ident:
		s.ident(x)
	default:
		s.b.WriteString(types.ExprString(x))
	}
}

func (s *signer) generic(of ast.Expr, args ...ast.Expr) {
	s.expr(of)
	s.b.WriteString("[")
	for _, a := range args {
		s.expr(a)
		s.b.WriteString(",")
	}
	s.b.WriteString("]")
}

func (s *signer) selector(x *ast.SelectorExpr) {
	name, ok := x.X.(*ast.Ident)
	if !ok {
		s.ok = false
		return
	}
	target, ok := s.file.imports[name.Name]
	if !ok { // the package's name is not the last element of its path
		s.ok = false
	}
	s.b.WriteString(target + "." + x.Sel.Name)
}

// ident writes what a local alias stands for.
func (s *signer) ident(x *ast.Ident) {
	d := s.pkg.decls[x.Name]
	if d == nil || d.typ == nil || !d.typ.Assign.IsValid() {
		s.b.WriteString(x.Name)
		return
	}
	if s.depth > 10 || d.typ.TypeParams != nil {
		s.ok = false
		return
	}
	file := s.file
	s.file, s.depth = d.file, s.depth+1
	s.expr(d.typ.Type)
	s.file, s.depth = file, s.depth-1
}

// promotes reports whether a type may have methods that are not written for it.
func promotes(t *ast.TypeSpec) bool {
	switch x := t.Type.(type) {
	case *ast.StructType:
		for _, f := range x.Fields.List {
			if len(f.Names) == 0 {
				return true
			}
		}
		return false
	case *ast.InterfaceType:
		return true
	default:
		return false
	}
}
