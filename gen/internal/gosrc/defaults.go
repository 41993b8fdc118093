package gosrc

import (
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// defaults makes parameters of the project's x-idempotency defaults.
func (l *loader) defaults() []param {
	var out []param
	l.flatten(l.opt.Defaults, &out)
	return out
}

// flatten goes through the objects in which x-idempotency groups its fields.
func (l *loader) flatten(n *source.Node, out *[]param) {
	if n == nil {
		return
	}
	if n.Kind != source.Map {
		l.problems.Addf(diag.BadParam, n.Pos, "", "defaults must be an object, is %s", n.Kind)
		return
	}
	for _, f := range n.Fields {
		p := param{name: f.Name, pos: f.NamePos, valuePos: f.Value.Pos, value: f.Value.Text}
		switch {
		case f.Value.Kind == source.Null: // as good as absent
			continue
		case f.Value.Kind == source.Map && slices.Contains([]string{"retry", "breaker"}, f.Name):
			l.flatten(f.Value, out)
			continue
		case f.Value.Kind == source.Map && f.Name == "backoff":
			base, most, factor := f.Value.Get("base"), f.Value.Get("max"), f.Value.Get("factor")
			if base == nil || most == nil {
				l.problems.Addf(diag.BadParam, f.Value.Pos, "write 200ms..30s", "backoff needs base and max")
				continue
			}
			p.value = base.Text + ".." + most.Text
			if factor != nil {
				*out = append(*out, param{name: "factor", value: factor.Text, pos: factor.Pos, valuePos: factor.Pos})
			}
		case f.Value.Kind == source.Map && f.Name == "logFields":
			var items []string
			for _, item := range f.Value.Fields {
				items = append(items, item.Name+":"+item.Value.Text)
			}
			p.value = strings.Join(items, ",")
		case f.Value.Kind == source.List && f.Name == "fingerprint":
			var items []string
			for _, item := range f.Value.Items {
				items = append(items, item.Text)
			}
			p.value = strings.Join(items, ",")
		case !slices.Contains(defaultParams, f.Name):
			l.problems.Addf(diag.UnknownParam, f.NamePos, diag.Suggest(f.Name, defaultParams), "%q cannot be a default of a Go contract", f.Name)
			continue
		case f.Value.Kind == source.Map || f.Value.Kind == source.List:
			l.problems.Addf(diag.BadParam, f.Value.Pos, "", "%s must be one value, is %s", f.Name, f.Value.Kind)
			continue
		}
		*out = append(*out, p)
	}
}

// defaultParams are what a default may set: nothing that says which messages
// are the same.
var defaultParams = []string{
	"ttl", "onMissingKey", "fingerprint", "onConflict", "maxAttempts", "quick", "backoff", "timeout", "onBug",
	"transaction", "ordering", "deadLetter", "concurrency", "ratePerSecond", "dependency", "failures", "openFor", "probes", "logFields",
}
