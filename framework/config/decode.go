package config

import (
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// document sets what the file says.
func (l *loader) document(body ast.Node, name string) {
	d := decoder{loader: l, name: name}
	d.value(body, reflect.ValueOf(&l.cfg).Elem(), "")
}

type decoder struct {
	*loader
	name string
}

func (d decoder) at(n ast.Node) Place { return placeOf(n, d.name) }

// placeOf is where a node begins.
func placeOf(n ast.Node, name string) Place {
	if n == nil {
		return Place{Source: name}
	}
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	return tokenPlace(n.GetToken(), name)
}

func tokenPlace(tk *token.Token, name string) Place {
	if tk == nil || tk.Position == nil {
		return Place{Source: name}
	}
	return Place{Source: name, Line: tk.Position.Line, Column: tk.Position.Column}
}

// value sets v, a setting or a section, to what the node says.
func (d decoder) value(n ast.Node, v reflect.Value, path string) {
	switch {
	case isLeaf(v.Type()):
		d.origins[path] = d.at(n)
		d.leaf(n, v, path)
	case isNull(n): // a section whose keys are all commented out
	case v.Kind() == reflect.Slice:
		d.rows(n, v, path)
	default:
		d.section(n, v, path)
	}
}

func (d decoder) leaf(n ast.Node, v reflect.Value, path string) {
	seq, isList := n.(*ast.SequenceNode)
	wantsList := v.Kind() == reflect.Slice
	text, isText := textOf(n)
	switch {
	case isList && wantsList:
		list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
		for i, item := range seq.Values {
			d.value(item, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(list)
	case isNull(n):
		d.fail(d.at(n), path, "has no value (give it one, or remove the key)")
	case !isText && wantsList:
		d.fail(d.at(n), path, "must be a list")
	case !isText:
		d.fail(d.at(n), path, "must be a single value, is a %s", kindOf(n))
	default:
		text, problem := d.expand(text)
		if problem == "" {
			problem = assign(v, text)
		}
		if problem != "" {
			d.fail(d.at(n), path, "%s", problem)
		}
	}
}

func (d decoder) rows(n ast.Node, v reflect.Value, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(d.at(n), path, "must be a list")
		return
	}
	rows := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.origins[at] = d.at(item)
		d.value(item, rows.Index(i), at)
	}
	v.Set(rows)
}

// section sets the fields of a struct or the entries of a map.
func (d decoder) section(n ast.Node, v reflect.Value, path string) {
	entries, ok := entriesOf(n)
	if !ok {
		d.fail(d.at(n), path, "must be a section of keys, is a %s", kindOf(n))
		return
	}
	first := map[string]int{}
	for _, e := range entries {
		name, ok := textOf(e.Key)
		at, pos := join(path, name), d.at(e.Key)
		line, again := first[name]
		switch {
		case !ok:
			d.report(pos, path, "has a key that is not a word")
		case again:
			d.report(pos, at, "is given twice (first in line %d)", line)
		default:
			first[name], d.origins[at] = pos.Line, pos
			d.entry(e, v, name, at)
		}
	}
}

func (d decoder) entry(e *ast.MappingValueNode, v reflect.Value, name, path string) {
	if v.Kind() == reflect.Map {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.Value, value, path)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(name), value)
		return
	}
	field, problem := fieldOf(v, name)
	if problem != "" {
		d.report(d.at(e.Key), path, "%s", problem)
		return
	}
	d.value(e.Value, field, path)
}

func entriesOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// textOf returns a scalar as it is written: it is the setting's type that says
// what it means, not YAML's rules.
func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return n == nil || null
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.SequenceNode:
		return "list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "section (quote a text that has a colon)"
	}
	return "single value"
}
