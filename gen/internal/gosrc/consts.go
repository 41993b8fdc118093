package gosrc

import (
	"go/ast"
	"go/constant"
	"go/token"
)

// constDecl is a constant of the package.
type constDecl struct {
	name  *ast.Ident
	typ   ast.Expr // nil if the value says it
	value ast.Expr
	iota  int

	known    *constValue
	computed bool
}

// constValue is a string or an integer, and the name of the package's type
// that it has; "" is another or none.
type constValue struct {
	constant.Value
	typ string
}

// The limits of constants: Go's own for integers, and what is more than a name
// for text.
const (
	maxConstBits = 512
	maxConstText = 4 << 10
)

// constant computes a constant; nil if its value takes more than this package
// to know.
func (p *pkg) constant(name string) *constValue {
	c := p.consts[name]
	if c == nil || c.computed {
		if c == nil {
			return nil
		}
		return c.known
	}
	c.computed = true // also ends circles
	v := p.eval(c.value, c.iota)
	if v != nil && c.typ != nil {
		v = &constValue{v.Value, p.constType(c.typ)}
	}
	c.known = v
	return v
}

// typeOfConst is the name of the package's type that a constant has, also of
// one whose value is not known.
func (p *pkg) typeOfConst(name string) string {
	c := p.consts[name]
	switch v := p.constant(name); {
	case v != nil:
		return v.typ
	case c.typ != nil:
		return p.constType(c.typ)
	}
	if call, ok := ast.Unparen(c.value).(*ast.CallExpr); ok {
		return p.constType(call.Fun)
	}
	return ""
}

// constType follows aliases.
func (p *pkg) constType(e ast.Expr) string {
	for range maxChain {
		d := p.typeOf(e)
		if d == nil {
			return ""
		}
		if !d.spec.Assign.IsValid() {
			return d.spec.Name.Name
		}
		e = d.spec.Type
	}
	return ""
}

func (p *pkg) eval(e ast.Expr, iota int) *constValue {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING || e.Kind == token.INT || e.Kind == token.CHAR {
			return bounded(constant.MakeFromLiteral(e.Value, e.Kind, 0), "")
		}
	case *ast.Ident:
		if _, own := p.names["iota"]; e.Name == "iota" && !own {
			return bounded(constant.MakeInt64(int64(iota)), "")
		}
		return p.constant(e.Name)
	case *ast.CallExpr: // a conversion
		basic := p.predeclared(e.Fun)
		if len(e.Args) != 1 || p.typeOf(e.Fun) == nil && basicType(basic) == nil {
			return nil
		}
		if v := p.eval(e.Args[0], iota); v != nil && (basic != "string" || v.Kind() == constant.String) {
			return &constValue{v.Value, p.constType(e.Fun)}
		}
	case *ast.UnaryExpr:
		v := p.eval(e.X, iota)
		if v != nil && v.Kind() == constant.Int && (e.Op == token.ADD || e.Op == token.SUB) {
			return bounded(constant.UnaryOp(e.Op, v.Value, 0), v.typ)
		}
	case *ast.BinaryExpr:
		return p.binary(e, iota)
	}
	return nil
}

func (p *pkg) binary(e *ast.BinaryExpr, iota int) *constValue {
	x, y := p.eval(e.X, iota), p.eval(e.Y, iota)
	if x == nil || y == nil || x.Kind() != y.Kind() {
		return nil
	}
	typ := x.typ
	if typ == "" {
		typ = y.typ
	}
	op := e.Op
	switch op {
	case token.ADD:
	case token.SHL, token.SHR:
		n, exact := constant.Uint64Val(y.Value)
		if x.Kind() != constant.Int || !exact || n > maxConstBits {
			return nil
		}
		return bounded(constant.Shift(x.Value, op, uint(n)), x.typ)
	case token.QUO, token.REM:
		if x.Kind() != constant.Int || constant.Sign(y.Value) == 0 {
			return nil
		}
		if op == token.QUO {
			op = token.QUO_ASSIGN // of integers
		}
	case token.SUB, token.MUL, token.AND, token.OR, token.XOR, token.AND_NOT:
		if x.Kind() != constant.Int {
			return nil
		}
	default:
		return nil
	}
	return bounded(constant.BinaryOp(x.Value, op, y.Value), typ)
}

// bounded keeps constants from growing, and text from staying a sum.
func bounded(v constant.Value, typ string) *constValue {
	switch v.Kind() {
	case constant.Int:
		if constant.BitLen(v) <= maxConstBits {
			return &constValue{v, typ}
		}
	case constant.String:
		if text := constant.StringVal(v); len(text) <= maxConstText {
			return &constValue{constant.MakeString(text), typ}
		}
	}
	return nil
}
