package difftest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what every generated payload is.
type message interface {
	json.Unmarshaler
	Validate() error
}

// target is a message with its schema.
type target struct {
	name   string
	typ    *model.Type
	schema *jsonschema.Schema
	new    func() message
	// floats, raw and loses say whether a number may be a float64, some of the
	// JSON is kept as it is, and equal elements may differ in ignored members.
	floats, raw, loses bool
}

func targets(t testing.TB) []*target {
	t.Helper()
	var problems diag.List
	set := source.NewSet(os.DirFS("."), &problems)
	c := asyncapi.Load(set, &problems, "asyncapi.yaml", asyncapi.Options{MessageHeader: "name"})
	file := set.Load("asyncapi.yaml", diag.Pos{})
	for _, p := range problems.Sorted() {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	var doc bytes.Buffer
	writeJSON(&doc, file.Root)
	root, err := jsonschema.UnmarshalJSON(&doc)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	compiler.AssertFormat()
	if err := compiler.AddResource("mem:///doc", root); err != nil {
		t.Fatal(err)
	}
	var out []*target
	for _, m := range c.Messages {
		s, err := compiler.Compile("mem:///doc#/channels/all/messages/" + m.Name + "/payload")
		if err != nil {
			t.Fatal(err)
		}
		make, ok := constructors[m.Name]
		if !ok {
			t.Fatalf("no constructor of %s", m.Name)
		}
		out = append(out, &target{
			name: m.Name, typ: m.Payload, schema: s, new: make,
			floats: anyType(m.Payload, func(t *model.Type) bool { return t.Kind == model.Float }),
			raw:    anyType(m.Payload, func(t *model.Type) bool { return t.Kind == model.Raw }),
			loses:  m.Name == "unique" || m.Name == "shape",
		})
	}
	if len(out) != len(constructors) {
		t.Fatalf("%d messages, %d constructors", len(out), len(constructors))
	}
	return out
}

// anyType reports whether a type, or one that it is made of, is as is says.
func anyType(t *model.Type, is func(*model.Type) bool) bool {
	seen := map[*model.Type]bool{}
	var walk func(t *model.Type) bool
	walk = func(t *model.Type) bool {
		if t == nil || seen[t] {
			return false
		}
		seen[t] = true
		if is(t) || walk(t.Elem) || walk(t.Extra) {
			return true
		}
		for _, f := range t.Fields {
			if walk(f.Type) {
				return true
			}
		}
		for _, v := range t.Variants {
			if walk(v.Type) {
				return true
			}
		}
		return false
	}
	return walk(t)
}

// writeJSON writes a node with the digits of its numbers.
func writeJSON(b *bytes.Buffer, n *source.Node) {
	switch n.Kind {
	case source.Null:
		b.WriteString("null")
	case source.String:
		text, _ := json.Marshal(n.Text)
		b.Write(text)
	case source.List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case source.Map:
		b.WriteByte('{')
		for i, f := range n.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			name, _ := json.Marshal(f.Name)
			b.Write(name)
			b.WriteByte(':')
			writeJSON(b, f.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(strings.TrimPrefix(n.Text, "+"))
	}
}

var constructors = map[string]func() message{
	"texts":     func() message { return new(Texts) },
	"formats":   func() message { return new(Formats) },
	"integers":  func() message { return new(Integers) },
	"numbers":   func() message { return new(Numbers) },
	"presence":  func() message { return new(Presence) },
	"constants": func() message { return new(Constants) },
	"enums":     func() message { return new(Enums) },
	"lists":     func() message { return new(Lists) },
	"unique":    func() message { return new(Unique) },
	"maps":      func() message { return new(Maps) },
	"closed":    func() message { return new(Closed) },
	"extra":     func() message { return new(Extra) },
	"names":     func() message { return new(Names) },
	"anything":  func() message { return new(Anything) },
	"shape":     func() message { return new(Shape) },
	"mixed":     func() message { return new(Mixed) },
	"tree":      func() message { return new(Tree) },
	"forest":    func() message { return new(Forest) },
	"merged":    func() message { return new(Merged) },
	"order":     func() message { return new(Order) },
	"list":      func() message { return new(List) },
	"table":     func() message { return new(Table) },
	"raw":       func() message { return new(Raw) },
}
