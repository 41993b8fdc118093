package tree

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the plan as a unified diff, nil if there is nothing to do. The
// paths in it begin with prefix, the way from here to the project's root.
func (p *Plan) Diff(prefix string) []byte {
	all := slices.Clone(p.changes)
	if p.lock != nil {
		all = append(all, *p.lock)
		slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.path, b.path) })
	}
	var out bytes.Buffer
	for _, c := range all {
		name := path.Join(prefix, c.path)
		from, to := "a/"+name, "b/"+name
		if c.old == nil {
			from = "/dev/null"
		}
		if c.new == nil {
			to = "/dev/null"
		}
		d := diff.Diff(from, c.old, to, c.new)
		if len(d) == 0 { // an empty file comes or goes
			d = []byte("diff " + from + " " + to + "\n--- " + from + "\n+++ " + to + "\n")
		}
		out.Write(d)
	}
	return out.Bytes()
}
