package render

import (
	"path"
	"strings"
)

// handlerFile is the handler of an operation in the package of the handlers.
type handlerFile struct {
	*operation
	// Type is the handler's struct, Msgs the name of the messages' package.
	Type, Msgs string
	file       string
	// Result is qualified.
	Result string
}

// qualify puts the name of the messages' package before the names of types.
func (r *renderer) qualify(goType string) string {
	prefix := strings.TrimRight(goType[:strings.LastIndexAny(goType, "]*")+1], "")
	name := goType[len(prefix):]
	if 'A' <= name[0] && name[0] <= 'Z' {
		return prefix + r.msgs + "." + name
	}
	return goType
}

// handlerFiles names the handlers, their constructors and files.
func (r *renderer) handlerFiles() []handlerFile {
	taken := map[string]bool{"Set": true, "Input": true, "CreateTables": true}
	for _, o := range r.ops {
		taken["New"+o.GoName] = true
	}
	var names []string
	var out []handlerFile
	for _, o := range r.ops {
		name := o.GoName
		for taken[name] || strings.HasPrefix(name, "Test") {
			name = "Handle" + name
		}
		taken[name] = true
		names = append(names, name)
		out = append(out, handlerFile{operation: o, Type: name, Msgs: r.msgs, Result: r.qualify(o.Result)})
	}
	files := fileNames(names)
	for i := range out {
		out[i].file = files[out[i].Type]
	}
	return out
}

// handlers renders what the user goes on to write: a file for each handler and
// the two that they share.
func (r *renderer) handlers() {
	folder := r.settings.Handlers
	all := r.handlerFiles()
	for _, h := range all {
		use := imports{"context": std, library + "/framework/idem": "", library + "/framework/idemsql": "", r.importPath(r.settings.Messages): r.msgs}
		if strings.Contains(h.Result, "json.") && h.External() {
			use["encoding/json"] = std
		}
		r.goFile(goFile{
			path: path.Join(folder, h.file+".go"), owner: User, op: h.ID, source: h.Source, pkg: r.handlersPkg,
			imports: use, template: "handler.tmpl", data: h,
		})
	}
	use := imports{"github.com/google/wire": ""}
	if len(all) > 0 {
		use[r.importPath(r.settings.Messages)] = r.msgs
	}
	r.goFile(goFile{
		path: path.Join(folder, "handlers.go"), owner: User, source: r.contract.Source, pkg: r.handlersPkg,
		doc:     "Package " + r.handlersPkg + " does the work of each operation. It does not know which broker or database it runs on.",
		imports: use, template: "handlers.tmpl", data: all,
	})
	r.goFile(goFile{
		path: path.Join(folder, "schema.go"), owner: User, pkg: r.handlersPkg,
		imports: imports{"context": std, library + "/framework/idemsql": ""}, template: "schema.tmpl",
	})
}
