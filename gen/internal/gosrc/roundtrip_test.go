package gosrc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// reload reads what Export wrote of a contract.
func reload(t failer, c *model.Contract, opt asyncapi.Options) *model.Contract {
	t.Helper()
	text := gosrc.Export(c)
	var problems diag.List
	set := source.NewSet(fstest.MapFS{"asyncapi.yaml": {Data: text}}, &problems)
	out := asyncapi.Load(set, &problems, "asyncapi.yaml", opt)
	if out == nil {
		t.Fatalf("what was exported is wrong: %v\n%s", problems.Sorted(), text)
	}
	return out
}

// same compares what two contracts mean: not places, nor what the types are
// called in Go, nor who declares them.
func same(t failer, want, got *model.Contract, text []byte) {
	t.Helper()
	a, b := meaning(want), meaning(got)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("what was exported means something else (-model +reloaded):\n%s\n%s", diff, text)
	}
}

func TestExportKeepsTheModel(t *testing.T) {
	c := load(t, os.DirFS("testdata"), "pedidos", gosrc.Options{})
	same(t, c, reload(t, c, asyncapi.Options{}), gosrc.Export(c))
}

func TestExportKeepsAnyGoContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := goPackage(t)
		var problems diag.List
		c := gosrc.Load(fstest.MapFS{"p/a.go": {Data: []byte(text)}}, "p", &problems, gosrc.Options{MessageHeader: "name"})
		if c == nil {
			t.Fatalf("the package is wrong: %v\n%s", problems.Sorted(), text)
		}
		if endless(c) {
			t.Skip("a list that must have an item of its own type: no message of this package is ever valid")
		}
		same(t, c, reload(t, c, asyncapi.Options{MessageHeader: "name"}), gosrc.Export(c))
	})
}

// endless reports a contract that is refused for that alone.
func endless(c *model.Contract) bool {
	var problems diag.List
	set := source.NewSet(fstest.MapFS{"asyncapi.yaml": {Data: gosrc.Export(c)}}, &problems)
	if asyncapi.Load(set, &problems, "asyncapi.yaml", asyncapi.Options{MessageHeader: "name"}) != nil {
		return false
	}
	for _, p := range problems.Sorted() {
		if p.Code != diag.SchemaEndless {
			return false
		}
	}
	return true
}

// meaning is a contract with each type written out where it is used, up to
// where it comes back to itself.
func meaning(c *model.Contract) any {
	out := map[string]any{"title": c.Title, "version": c.Version, "description": c.Description}
	for _, op := range c.Operations {
		plain := *op
		plain.Result, plain.GoName, plain.Source, plain.Pos, plain.KeyPos = nil, "", "", diag.Pos{}, diag.Pos{}
		out["operation "+op.ID] = []any{value(plain), typeMeaning(op.Result, nil)}
	}
	for _, s := range c.Sends {
		plain := *s
		plain.GoName, plain.Source, plain.Pos = "", "", diag.Pos{}
		out["send "+s.ID] = value(plain)
	}
	for _, m := range c.Messages {
		plain := *m
		plain.GoName, plain.Source, plain.Pos, plain.Payload, plain.Headers = "", "", diag.Pos{}, nil, nil
		out["message "+m.Name] = []any{value(plain), typeMeaning(m.Payload, nil), typeMeaning(m.Headers, nil)}
	}
	return out
}

// value goes through JSON, so that differences are easy to read; messages and
// sends are their names.
func value(v any) any {
	switch v := v.(type) {
	case model.Operation:
		var names []string
		for _, m := range v.Messages {
			names = append(names, m.Name)
		}
		emits := []string{}
		for _, s := range v.Emits {
			emits = append(emits, s.ID)
		}
		silent := v.Emits == nil
		v.Messages, v.Emits = nil, nil
		return []any{names, emits, silent, viaJSON(v)}
	case model.Send:
		var names []string
		for _, m := range v.Messages {
			names = append(names, m.Name)
		}
		v.Messages = nil
		return []any{names, viaJSON(v)}
	default:
		return viaJSON(v)
	}
}

func viaJSON(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func typeMeaning(t *model.Type, above []*model.Type) any {
	if t == nil {
		return nil
	}
	if len(above) == 6 { // types that contain themselves end here; so deep they may be several of one meaning
		return "…"
	}
	above = append(above, t)
	plain := *t
	plain.Name, plain.Source, plain.Pos, plain.Declared, plain.GoType = "", "", diag.Pos{}, false, ""
	plain.Unsigned = false // how Go holds it follows from the bounds, or is the user's
	plain.Description = "" // a schema that is written where it is used cannot tell it from the field's
	plain.Elem, plain.Fields, plain.Extra, plain.Variants, plain.Enum = nil, nil, nil, nil, nil
	out := map[string]any{"type": viaJSON(plain), "elem": typeMeaning(t.Elem, above), "extra": typeMeaning(t.Extra, above)}
	for _, v := range t.Enum {
		out["enum "+v.Value] = true
	}
	for _, f := range t.Fields {
		out["field "+f.Name] = []any{effective(f), f.Required, f.Nullable, typeMeaning(f.Type, above)}
	}
	for _, v := range t.Variants {
		out["variant "+v.Value] = typeMeaning(v.Type, above)
	}
	return out
}

// goPackage draws a package that is right.
func goPackage(t *rapid.T) string {
	var b strings.Builder
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "pick") }
	maybe := func(s string) string {
		if rapid.Bool().Draw(t, "maybe") {
			return s
		}
		return ""
	}
	b.WriteString("package p\n\nimport (\n\t\"encoding/json\"\n\t\"time\"\n\n\t\"github.com/idem-go/idem/framework/contract\"\n)\n\n")
	structs := []string{"One", "Two", "Three"}
	for i, name := range structs {
		b.WriteString("// " + name + pick(" is one.", " holds: things # and \"more\"\n//\n//   - over lines", "") + "\n//\n")
		b.WriteString("//idem:operation name=on" + name + " topic=" + pick("a.v1", "b.v1") + maybe(" ttl=30d") + maybe(" keyVersion=3") +
			maybe(" fingerprint=none") + maybe(" onConflict=discard") + maybe(" onMissingKey=derive") + maybe(" quick=0") + maybe(" maxAttempts=2") +
			maybe(" backoff=1s..1m"+maybe(" factor=1.5")) + maybe(" timeout=5s onBug=pause") + maybe(" transaction=external result="+structs[(i+1)%3]) +
			maybe(" ordering=none") + maybe(" deadLetter="+pick("none", "dead.v1")) + maybe(" concurrency=3") + maybe(" ratePerSecond=0.25") +
			maybe(" dependency=d"+name+maybe(" failures=2 openFor=90s")) + maybe(" emits=send"+name) + maybe(" logFields=id:id") + maybe(` summary="a: \"b\" # c"`) + "\n")
		b.WriteString("//idem:send name=send" + name + " topic=" + pick("a.v1", "c.v1") + maybe(" ordering=$message.payload#/id") + "\n")
		b.WriteString("type " + name + " struct {\n\tID string `json:\"id\" idem:\"key" + maybe(",minLength=1") + "\"`\n")
		for n := range rapid.IntRange(0, 6).Draw(t, "fields") {
			b.WriteString("\tF" + string(rune('A'+n)) + " " + goField(pick, maybe, structs, string(rune('a'+n))) + maybe(" // "+pick("a comment", "é: [x]")) + "\n")
		}
		b.WriteString("}\n\n")
	}
	b.WriteString("// State has values.\ntype State string\n\nconst (\n\tOn State = \"on\"\n\tOff State = \"yes\"\n)\n\ntype Level uint8\n\nconst (\n\tLow Level = iota + 1\n\tHigh\n)\n\n")
	b.WriteString("var _ = json.RawMessage(nil)\nvar _ time.Time\nvar _ contract.Optional[int]\n")
	return b.String()
}

func goField(pick func(...string) string, maybe func(string) string, structs []string, name string) string {
	opt := maybe(",omitzero")
	tag := func(rules ...string) string {
		rule := pick(append(rules, "")...)
		if rule != "" {
			rule = ` idem:"` + rule + `"`
		}
		return " `json:\"" + name + opt + "\"" + rule + "`"
	}
	star := maybe("*")
	switch pick("string", "int", "float", "bool", "time", "enum", "level", "struct", "list", "map", "raw", "optional") {
	case "string":
		return star + "string" + tag("minLength=2,maxLength=9", `pattern='^[a-z]{1,3}\\d$'`, "format=email", "enum=a|b|null", "const=x")
	case "int":
		return star + pick("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int", "uint") + tag("min=1,max=9", "exclusiveMin=0,multipleOf=3", "enum=1|2", "const=7")
	case "float":
		return star + pick("float32", "float64") + tag("min=-1.5,max=1e3", "exclusiveMax=0.1", "const=2.5")
	case "bool":
		return star + "bool" + tag("const=true")
	case "time":
		return star + "time.Time" + tag()
	case "enum":
		return star + "State" + tag("const=on")
	case "level":
		return star + "Level" + tag()
	case "struct":
		opt = ",omitzero"
		return "*" + pick(structs...) + tag()
	case "list":
		return "[]" + star + pick("string", "int64", "State", structs[0], structs[1]) + tag("minItems=1,maxItems=4", "uniqueItems")
	case "map":
		return "map[string]" + pick("[]string", star+"string", star+"bool", star+"Level", star+structs[2]) + tag("minProperties=1,maxProperties=4")
	case "raw":
		return "json.RawMessage" + tag()
	default:
		opt = ",omitzero"
		return "contract.Optional[" + pick("string", "int64", "State", "[]string", structs[0]) + "]" + tag()
	}
}

// What AsyncAPI documents mean is exported without loss, too.
func TestExportKeepsAsyncAPIContracts(t *testing.T) {
	const dir = "../../testdata/contracts"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			root := os.DirFS(filepath.Join(dir, e.Name()))
			var problems diag.List
			set := source.NewSet(root, &problems)
			settings := set.Load("idemgen.yaml", diag.Pos{}).Root
			text := func(name string) string {
				if n := settings.Get(name); n != nil {
					return n.Text
				}
				return ""
			}
			opt := asyncapi.Options{
				MessageHeader: text("messageHeader"), AcceptUnknownEnum: text("unknownEnum") == "accept",
				RejectExtraFields: text("extraFields") == "reject", Defaults: settings.Get("defaults"),
			}
			c := asyncapi.Load(set, &problems, text("contract"), opt)
			if c == nil {
				t.Fatalf("the contract is wrong: %v", problems.Sorted())
			}
			opt.Defaults = nil // they are in the operations now
			same(t, c, reload(t, c, opt), gosrc.Export(c))
		})
	}
}

// effective is what a member's description comes to.
func effective(f *model.Field) string {
	if f.Description != "" {
		return f.Description
	}
	return f.Type.Description
}
