package render

import (
	"path"
	"slices"
	"strings"
)

// sampleMessage is a message that the program can send.
type sampleMessage struct {
	Topic, Name, Payload string
	Headers              []string
}

// program renders the main package.
func (r *renderer) program() {
	folder := r.settings.Main
	chosen := r.chosen()
	for _, t := range chosen {
		r.goFile(goFile{
			path: path.Join(folder, "transport_"+t.Name+"_gen.go"), source: r.contract.Source, build: t.Name, pkg: "main",
			imports: r.openImports([]transport{t}), template: "transport.tmpl", data: t,
		})
	}
	var not []string
	for _, t := range transports() { // with the tag of one that is not wired nothing is built
		not = append(not, "!"+t.Name)
	}
	slices.Sort(not)
	use := r.openImports(chosen)
	use["fmt"] = std
	r.goFile(goFile{
		path: path.Join(folder, "transport_all_gen.go"), source: r.contract.Source, build: strings.Join(not, " && "), pkg: "main",
		imports: use, template: "all.tmpl", data: chosen,
	})
	r.goFile(goFile{
		path: path.Join(folder, "samples_gen.go"), source: r.contract.Source, pkg: "main",
		imports: imports{library + "/framework/idem": ""}, template: "samples.tmpl", data: r.samples(),
	})
	r.goFile(goFile{
		path: path.Join(folder, "send.go"), owner: User, pkg: "main",
		imports: imports{
			"context": std, "fmt": std, "io": std, "os": std, "slices": std, "strings": std,
			"github.com/ThreeDotsLabs/watermill": "", "github.com/ThreeDotsLabs/watermill/message": "",
			library + "/framework/idem": "", library + "/wiring": "",
		},
		template: "send.tmpl",
	})
	command := "go run ."
	if folder != "." {
		command = "go run ./" + folder
	}
	name := path.Base(folder)
	if folder == "." {
		name = path.Base(r.settings.Module)
	}
	r.goFile(goFile{
		path: path.Join(folder, "main.go"), owner: User, pkg: "main",
		imports: imports{
			"context": std, "errors": std, "flag": std, "fmt": std, "io": std, "os": std, "os/signal": std, "syscall": std,
			library + "/framework/config": "", library + "/middleware": "", library + "/wiring": "",
			r.importPath(r.settings.Handlers): r.handling,
		},
		doc:      "Command " + oneLine(name) + " consumes the messages of " + oneLine(r.contract.Title) + ".",
		template: "main.tmpl",
		data:     struct{ Name, Command, Handlers string }{name, command, r.handling},
	})
}

func (r *renderer) openImports(list []transport) imports {
	use := imports{
		"context": std, library + "/framework/idem": "", library + "/framework/idemsql": "", library + "/wiring": "",
		r.importPath(r.settings.Handlers): r.handling,
	}
	for _, t := range list {
		use[r.importPath(path.Join(r.settings.Wiring, t.Name))] = t.Name
	}
	return use
}

// samples has each message that the program consumes, once for each topic.
func (r *renderer) samples() []sampleMessage {
	var out []sampleMessage
	for _, o := range r.ops {
		for i, m := range o.Messages {
			if slices.ContainsFunc(out, func(s sampleMessage) bool { return s.Topic == o.Topic && s.Name == m.Name }) {
				continue
			}
			s := sampleOf(o.Operation, i)
			plain := sampleMessage{Topic: o.Topic, Name: m.Name, Payload: s.payload.write("\t\t\t", nil, "")}
			for j := range s.headers {
				s.headers[j].series = nil
			}
			plain.Headers = s.headerList()
			out = append(out, plain)
		}
	}
	return out
}
