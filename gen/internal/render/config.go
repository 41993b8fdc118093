package render

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// config renders the sample of idem.yaml.
func (r *renderer) config() {
	data := struct {
		Default  transport
		Uses     map[string]bool
		Both     bool // Kafka with either store
		Breakers []breakerLine
	}{Uses: map[string]bool{}}
	for i, t := range r.chosen() {
		if i == 0 {
			data.Default = t
		}
		data.Uses[t.Name], data.Uses[t.Transport], data.Uses["store "+t.Store] = true, true, true
	}
	data.Both = data.Uses["kafkasqlite"] && data.Uses["postgres"]
	data.Breakers = r.breakers()
	if r.err != nil {
		return
	}
	var b bytes.Buffer
	if r.err = r.templates.ExecuteTemplate(&b, "idem.yaml.tmpl", data); r.err != nil {
		return
	}
	r.add(File{Path: "idem.yaml", Body: b.Bytes(), Owner: User})
}

type breakerLine struct{ Name, Settings string }

// breakers are the dependencies of the contract. The configuration must
// declare each.
func (r *renderer) breakers() []breakerLine {
	found := map[string]string{}
	for _, o := range r.ops {
		if o.Dependency == "" {
			continue
		}
		var f []string
		if b := o.Breaker; b != nil {
			if b.Failures > 0 {
				f = append(f, "failures: "+strconv.Itoa(b.Failures))
			}
			if b.OpenFor > 0 {
				f = append(f, "openFor: "+model.FormatDuration(b.OpenFor))
			}
			if b.Probes > 0 {
				f = append(f, "probes: "+strconv.Itoa(b.Probes))
			}
		}
		if s := "{" + strings.Join(f, ", ") + "}"; len(s) > len(found[o.Dependency]) {
			found[o.Dependency] = s
		}
	}
	var out []breakerLine
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, breakerLine{quoteJSON(name), found[name]})
	}
	return out
}
