package asyncapi

import (
	"cmp"
	"mime"
	"regexp"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// message is one whose definition was read.
type message struct {
	name    string
	namePos diag.Pos
	def     *source.Node
	all     *source.Node // with its traits
	model   *model.Message
}

// messageShape checks the fields of a message.
func (l *loader) messageShape(n *source.Node) bool {
	if !l.object(n, messageFields, withExtension) {
		return false
	}
	l.block(n)
	return true
}

// message reads a message, once; key is its name unless it has one.
func (l *loader) message(def *source.Node, key string, keyPos diag.Pos) *message {
	if m, ok := l.messages[def]; ok {
		if m != nil && m.all.Get("name") == nil && m.name != key {
			l.problems.Add(diag.Problem{
				Code: diag.MessageName, Pos: keyPos, Fix: "give the message a name: of its own",
				Message: "the message is called \"" + key + "\" here and \"" + m.name + "\" elsewhere",
				Related: []diag.Related{{Pos: m.namePos, Note: "the other name"}},
			})
		}
		return m
	}
	l.messages[def] = nil
	if !l.messageShape(def) {
		return nil
	}
	m := &message{def: def, all: l.withTraits(def, messageTraitFields), name: key, namePos: keyPos}
	if n := m.all.Get("name"); n != nil {
		m.name, m.namePos = l.text(m.all, "name"), n.Pos
	}
	if !validName(m.name) {
		l.problems.Addf(diag.MessageName, m.namePos, nameRule, "%q cannot be the name of a message", clip(m.name))
	}
	l.messages[def] = m
	return m
}

// sameNames reports different messages of one name.
func (l *loader) sameNames(messages []*message) {
	first := map[string]*message{}
	for _, m := range messages {
		if other, ok := first[m.name]; ok {
			l.problems.Add(diag.Problem{
				Code: diag.MessageName, Pos: m.namePos, Message: "two messages have the name \"" + m.name + "\"",
				Fix:     "rename one, or let both channels refer to one message",
				Related: []diag.Related{{Pos: other.namePos, Note: "the other is here"}},
			})
			continue
		}
		first[m.name] = m
	}
}

// build makes the model of a message that an operation uses.
func (l *loader) build(m *message) {
	n := m.all
	out := &model.Message{
		Name: m.name, GoName: l.types.Name(m.name), ContentType: l.contentType(n),
		Summary: cmp.Or(l.text(n, "summary"), l.text(n, "title")), Description: l.text(n, "description"),
		Pos: m.def.Pos, Source: m.def.Source(),
	}
	m.model = out
	if p := l.need(n, "payload"); p != nil {
		if p = l.schema(p); p != nil {
			out.Payload = l.types.Payload(p, out.GoName)
		}
	}
	if h := n.Get("headers"); h != nil && h.Kind != source.Null {
		if h = l.schema(h); h != nil {
			out.Headers = l.types.Headers(h, out.GoName+"Headers")
		}
	}
	if out.Payload != nil {
		l.examples(m)
	}
}

var formats = regexp.MustCompile(
	`^application/(vnd\.aai\.asyncapi(\+(json|yaml))?;version=3\.[01]\.\d+|schema(\+(json|yaml))?;version=draft-07)$`)

// schema takes a schema out of a Multi Format Schema Object.
func (l *loader) schema(n *source.Node) *source.Node {
	wrapper := n
	if n.Get("$ref") != nil {
		if wrapper = l.set.Deref(n); wrapper == nil {
			return nil
		}
	}
	if wrapper.Get("schemaFormat") == nil && wrapper.Get("schema") == nil {
		return n
	}
	if !l.object(wrapper, formatFields, nil) {
		return nil
	}
	format, schema := l.need(wrapper, "schemaFormat"), l.need(wrapper, "schema")
	if format == nil || schema == nil {
		return nil
	}
	text := l.text(wrapper, "schemaFormat")
	if !formats.MatchString(strings.ReplaceAll(text, " ", "")) {
		l.problems.Addf(diag.SchemaFormat, format.Pos,
			"use application/vnd.aai.asyncapi+yaml;version=3.0.0 or application/schema+yaml;version=draft-07",
			"schemas of the format %s are not supported", show(format))
		return nil
	}
	return schema
}

// contentType returns that of a message, which must be JSON.
func (l *loader) contentType(n *source.Node) string {
	at := n.Get("contentType")
	if at == nil {
		n, at = l.root, l.root.Get("defaultContentType")
	}
	if at == nil || at.Kind == source.Null {
		return "application/json"
	}
	if at.Kind != source.String {
		l.text(n, "contentType")
		return ""
	}
	kind, _, err := mime.ParseMediaType(at.Text)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		l.problems.Addf(diag.ContentType, at.Pos, "use application/json or a type that ends in +json", "content type %s is not JSON", show(at))
	}
	return at.Text
}
