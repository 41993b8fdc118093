package render

import (
	"path"
	"slices"
)

// transport is how one is wired.
type transport struct {
	Name string
	// Package is that of the library's wiring.
	Package string
	// On completes "the application on".
	On string
	// Fields of the library's parts that handlers may need.
	Fields []string
	// Overrides make the configuration ask for it.
	Overrides []string
	// Transport and Store are the configuration's names.
	Transport, Store string
	// Handlers is the name of the handlers' package where it is imported.
	Handlers string
}

func transports() []transport {
	return []transport{
		{Name: "sqlite", Package: "sqlite", On: "one SQLite file", Fields: []string{"SQL", "DB"}, Transport: "sqlite", Store: "sqlite"},
		{Name: "postgres", Package: "postgres", On: "one PostgreSQL database", Fields: []string{"SQL", "Pool"}, Transport: "postgres", Store: "postgres"},
		{Name: "kafka", Package: "kafka", On: "Kafka and PostgreSQL", Fields: []string{"SQL", "Pool"}, Transport: "kafka", Store: "postgres"},
		{Name: "kafkasqlite", Package: "kafkasqlite", On: "Kafka and a SQLite file", Fields: []string{"SQL", "DB"}, Transport: "kafka", Store: "sqlite"},
		{Name: "memory", Package: "memory", On: "a queue and tables in memory", Fields: []string{"Tables"}, Transport: "memory", Store: "memory"},
	}
}

// chosen are the transports of the settings, in their order.
func (r *renderer) chosen() []transport {
	var out []transport
	for _, name := range r.settings.Transports {
		i := slices.IndexFunc(transports(), func(t transport) bool { return t.Name == name })
		if i < 0 {
			continue
		}
		t := transports()[i]
		t.Handlers = r.handling
		t.Overrides = []string{"transport=" + t.Transport}
		if t.Transport == "kafka" {
			t.Overrides = append(t.Overrides, "store="+t.Store)
		}
		out = append(out, t)
	}
	return out
}

// Wired reports whether one of the named transports is what a configuration
// chooses as transport (here queue) and store; "" as the store leaves it open.
func Wired(names []string, queue, store string) bool {
	return slices.ContainsFunc(transports(), func(t transport) bool {
		return slices.Contains(names, t.Name) && t.Transport == queue && (store == "" || t.Store == store)
	})
}

// wiring renders a package for each transport.
func (r *renderer) wiring() {
	for _, t := range r.chosen() {
		folder := path.Join(r.settings.Wiring, t.Name)
		data := struct {
			transport
			Msgs string
		}{t, r.msgs}
		r.goFile(goFile{
			path: path.Join(folder, "wire.go"), source: r.contract.Source, build: "wireinject", pkg: t.Name,
			imports: imports{
				"context": std, "github.com/google/wire": "", library + "/framework/idem": "", library + "/wiring": "", r.importPath(r.settings.Handlers): r.handling, r.importPath(r.settings.Messages): r.msgs,
			},
			template: "wire.tmpl", data: data,
		})
		use := imports{
			"context": std, "github.com/google/wire": "", library + "/framework/idem": "", library + "/framework/idemsql": "", library + "/wiring": "",
			library + "/wiring/" + t.Package: "", r.importPath(r.settings.Handlers): r.handling, r.importPath(r.settings.Messages): r.msgs,
		}
		if t.Name == "memory" {
			use["errors"] = std
		}
		r.goFile(goFile{
			path: path.Join(folder, "register_gen.go"), source: r.contract.Source, pkg: t.Name,
			imports: use, template: "register.tmpl", data: data,
		})
		r.goFile(goFile{
			path: path.Join(folder, "providers.go"), owner: User, pkg: t.Name,
			doc:      "Package " + t.Name + " assembles the application on " + t.On + ".",
			imports:  imports{"github.com/google/wire": "", r.importPath(r.settings.Handlers): r.handling},
			template: "providers.tmpl", data: data,
		})
	}
}
