// Package schema turns the schemas of a contract into types of the model. What
// it does not support it refuses at its place; nothing is ignored but what
// [Keywords] calls an annotation.
package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
	"github.com/idem-go/idem/gen/internal/source"
)

// The bounds of a contract: one with more is not one that people wrote.
const (
	maxTypes   = 5000
	maxSchemas = 100_000 // read, one for each message that uses it
	maxName    = 1000    // characters of a name in Go
)

// Options say what schemas leave open.
type Options struct {
	// RejectExtraFields refuses members that an object does not name, where
	// the schema is silent.
	RejectExtraFields bool
	// AcceptUnknownEnum lets values pass that an enum does not name.
	AcceptUnknownEnum bool
}

// Builder makes the types of one contract. Not for concurrent use.
type Builder struct {
	set      *source.Set
	problems *diag.List
	opt      Options

	refs  map[*source.Node]*made // what a $ref leads to, by its target
	open  map[*source.Node]*made // what is being made
	nulls map[*source.Node]bool  // what mayBeNull said
	types []*model.Type
	scope names.Scope
	read  int  // schemas
	full  bool // there was too much

	// later is what needs types that are done. became says what a type that was
	// referred to before it was made turned out to be; whole is how many of types
	// refer to none such any more.
	later  []func()
	became map[*model.Type]*model.Type
	whole  int
}

// made is a type with what its place of use must know.
type made struct {
	t        *model.Type
	nullable bool
	ok       bool
	// used says that somebody referred to the type before it was done.
	used, done bool
}

// New returns a builder that reports to problems.
func New(set *source.Set, problems *diag.List, opt Options) *Builder {
	return &Builder{
		set: set, problems: problems, opt: opt, refs: map[*source.Node]*made{}, open: map[*source.Node]*made{},
		nulls: map[*source.Node]bool{}, became: map[*model.Type]*model.Type{},
	}
}

// Name is the exported Go name for a name of the contract.
func (b *Builder) Name(s string) string { return names.Go(s) }

// Payload returns the type of a message's payload, called goName in Go; nil
// after reporting what is wrong. A component of the same Go name is the same
// type; others are not, since what messages have is not for their parts.
func (b *Builder) Payload(n *source.Node, goName string) *model.Type {
	m := b.root(n, place{name: goName, named: true})
	b.finish()
	if !m.ok {
		return nil
	}
	if m.nullable {
		b.problems.Addf(diag.SchemaNull, b.set.Deref(n).Pos, "leave out null", "a payload must not be null")
		return nil
	}
	return b.final(m.t)
}

// Headers returns the type of a message's headers: an object of scalars, whose
// values travel as text. Nil after reporting what is wrong. It is of the message
// alone.
func (b *Builder) Headers(n *source.Node, goName string) *model.Type {
	before := b.problems.Len()
	m := b.root(n, place{name: goName, named: true, headers: true})
	b.finish()
	if !m.ok || b.problems.Len() > before {
		return nil
	}
	t := b.final(m.t)
	if t.Kind != model.Object || m.nullable {
		b.problems.Addf(diag.SchemaHeaders, b.set.Deref(n).Pos, "declare the headers as properties of an object", "headers must be an object with properties")
		return nil
	}
	for _, f := range t.Fields {
		switch f.Type.Kind {
		case model.String, model.Int, model.Float, model.Bool:
			if f.Nullable {
				b.problems.Addf(diag.SchemaHeaders, f.Pos, "leave out null; a header that is not required may be absent", "header %q must not be null", f.Name)
			}
		default:
			b.problems.Addf(diag.SchemaHeaders, f.Pos, "use string, integer, number or boolean", "header %q must be a scalar", f.Name)
		}
	}
	t.Closed, t.Extra = false, nil // brokers and libraries add headers of their own
	return t
}

// finish does what had to wait until all types were done.
func (b *Builder) finish() {
	for ; b.whole < len(b.types); b.whole++ {
		b.settle(b.types[b.whole])
	}
	for _, do := range b.later {
		do()
	}
	b.later = nil
}

// Types returns the named types, sorted by name, after reporting names that
// clash.
func (b *Builder) Types() []*model.Type {
	b.checkEnds()
	layOut(b.types)
	b.scope.Report(b.problems)
	slices.SortFunc(b.types, func(x, y *model.Type) int { return cmp.Or(strings.Compare(x.Name, y.Name), x.Pos.Compare(y.Pos)) })
	return b.types
}

// place is where a schema is used.
type place struct {
	// name is the Go name for a type that needs one.
	name string
	// named gives a name to any kind of type, which is of this place alone: one of
	// headers if they are.
	named, headers bool
}

// within is the place of a part of the schema.
func (p place) within(part string) place { return place{name: p.name + part} }

// declare gives the type its name, once.
func (b *Builder) declare(t *model.Type, name string) { b.declareAs(t, name, "schema") }

func (b *Builder) declareAs(t *model.Type, name, what string) {
	if t.Name != "" {
		return
	}
	t.Name = name
	b.scope.Claim(name, "the "+what+" at "+t.Source, t.Pos)
	if len(b.types) == maxTypes {
		b.tooBig(t.Pos, maxTypes, "types")
	}
	b.types = append(b.types, t)
}

func (b *Builder) tooBig(at diag.Pos, most int, what string) {
	if !b.full {
		b.full = true
		b.problems.Addf(diag.TooBig, at, "split the contract", "the contract has more than %d %s", most, what)
	}
}

// schema makes the type of a schema.
func (b *Builder) schema(n *source.Node, at place) made {
	if n == nil {
		return made{t: &model.Type{}, ok: true}
	}
	if b.read++; b.read > maxSchemas {
		b.tooBig(n.Pos, maxSchemas, "schemas")
	}
	if len(at.name) > maxName {
		b.tooBig(n.Pos, maxName, "characters in a name in Go: give the parts of the schema names in components")
	}
	switch {
	case b.full:
		return made{}
	case n.Kind == source.Bool && n.Text == "true":
		return made{t: b.start(n, at, model.Raw), ok: true}
	case n.Kind == source.Bool:
		b.problems.Addf(diag.SchemaUnsupported, n.Pos, "remove what nothing can be", "the schema false allows no value")
		return made{}
	case n.Kind != source.Map:
		b.problems.Addf(diag.SchemaKind, n.Pos, "", "a schema must be an object, is %s", n.Kind)
		return made{}
	case n.Get("$ref") != nil && at.named:
		return b.root(n, at)
	case n.Get("$ref") != nil:
		return b.reference(n)
	}
	if only := wrapped(n); only != nil {
		return b.schema(only, at)
	}
	if m := b.open[n]; m != nil { // an allOf leads back: the same schema is the same type
		m.used = true
		return made{t: m.t, nullable: b.mayBeNull(n), ok: true}
	}
	m := b.refs[n]
	own := m == nil || m.done // else whoever follows the $ref closes it
	if own {
		m = &made{t: &model.Type{}}
	}
	b.open[n] = m
	defer delete(b.open, n)
	sh, ok := b.collect(n)
	if !ok {
		return made{}
	}
	got := b.build(sh, at)
	if own && m.used {
		m.nullable = b.mayBeNull(n)
		return b.close(m, got, n, at.name)
	}
	return got
}

// wrapped is the reference in a schema that says nothing else, but for people:
// allOf: [{$ref: …}] with a description of its own.
func wrapped(n *source.Node) *source.Node {
	all := n.Get("allOf")
	if all == nil || all.Kind != source.List || len(all.Items) != 1 || all.Items[0].Get("$ref") == nil {
		return nil
	}
	for _, f := range n.Fields {
		if k := keywords()[f.Name]; f.Name != "allOf" && k.support != annotation && !strings.HasPrefix(f.Name, "x-") {
			return nil
		}
	}
	return all.Items[0]
}

// start makes a type that stands where n does.
func (b *Builder) start(n *source.Node, at place, kind model.Kind) *model.Type {
	t := &model.Type{Kind: kind, Pos: n.Pos, Source: n.Source()}
	switch {
	case at.headers:
		b.declareAs(t, at.name, "schema of headers")
	case at.named:
		b.declare(t, at.name)
	}
	return t
}
