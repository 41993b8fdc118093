package asyncapi

import (
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// The limits of what is made from a contract. maxMerged bounds the nodes that
// merging makes: two recursive schemas would go on for ever.
const (
	maxMerged   = 200_000
	maxPairs    = 20_000
	maxExamples = 4 << 20
)

// withTraits is an operation or message with its traits applied: they are
// patched one after another, and what the target says wins.
func (l *loader) withTraits(def *source.Node, fields []string) *source.Node {
	traits := l.items(def, "traits")
	if len(traits) == 0 {
		return def
	}
	var base *source.Node
	for _, t := range traits {
		if t = l.set.Deref(t); t == nil || !l.traitShape(t, fields) {
			continue
		}
		base = l.patch(base, t, 0)
	}
	return l.patch(base, def, 0)
}

// traitShape checks the fields of a trait.
func (l *loader) traitShape(t *source.Node, fields []string) bool {
	if !l.object(t, fields, withExtension) {
		return false
	}
	l.block(t)
	return true
}

// patch applies a JSON Merge Patch (RFC 7396): what p says replaces what base
// says, objects are merged, null removes. The result shares nodes with both;
// base may be nil.
func (l *loader) patch(base, p *source.Node, depth int) *source.Node {
	if base == nil || base == p || p == nil {
		if p == nil {
			return base
		}
		return p
	}
	if p.Kind != source.Map || base.Kind != source.Map {
		return p
	}
	if l.merged += len(base.Fields) + len(p.Fields); l.merged > maxMerged || depth > 64 {
		l.problems.Addf(diag.TooBig, p.Pos, "say it in one place", "merging traits leads too far")
		return p
	}
	out := &source.Node{Kind: source.Map, Pos: p.Pos, File: p.File, Path: p.Path, Fields: slices.Clone(base.Fields)}
	for _, f := range p.Fields {
		i := slices.IndexFunc(out.Fields, func(g source.Field) bool { return g.Name == f.Name })
		switch {
		case i < 0:
			out.Fields = append(out.Fields, f)
		case f.Value.Kind == source.Null:
			out.Fields = slices.Delete(out.Fields, i, i+1)
		case f.Name == "result": // a schema of its own
			out.Fields[i] = f
		default:
			f.Value = l.patchMember(out.Fields[i].Value, f.Value, depth)
			out.Fields[i] = f
		}
	}
	return out
}

// patchMember merges what references stand for, not the references.
func (l *loader) patchMember(base, p *source.Node, depth int) *source.Node {
	if base.Kind == source.Map && p.Kind == source.Map && (base.Get("$ref") != nil || p.Get("$ref") != nil) {
		a, b := l.set.Deref(base), l.set.Deref(p)
		if a == nil || b == nil {
			return p
		}
		base, p = a, b
	}
	return l.patch(base, p, depth+1)
}

// equal reports whether two values say the same.
func equal(a, b *source.Node) bool {
	switch {
	case a == b:
		return true
	case a == nil || b == nil || a.Kind != b.Kind || a.Text != b.Text:
		return false
	case len(a.Fields) != len(b.Fields) || len(a.Items) != len(b.Items):
		return false
	}
	for _, f := range a.Fields {
		if !equal(f.Value, b.Get(f.Name)) {
			return false
		}
	}
	for i := range a.Items {
		if !equal(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}
