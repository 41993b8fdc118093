package gosrc

import (
	"go/doc"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
)

// describe takes the title, version and description of the package.
func (l *loader) describe() {
	c := l.contract
	c.Title, c.Version = l.pkg.name, "0.0.0"
	for _, f := range l.pkg.files {
		if text := docText(f.ast.Doc); text != "" {
			c.Description = text
			break
		}
	}
	if l.about == nil {
		return
	}
	for _, p := range l.about.params {
		switch p.name {
		case "title":
			c.Title = p.value
		case "version":
			c.Version = p.value
		}
	}
}

// buildMessages makes the messages that //idem:message is about, and those of
// operations. Sends name theirs.
func (l *loader) buildMessages() {
	said := map[*decl]*directive{}
	for _, d := range l.declared {
		if first := said[d.decl]; first != nil {
			l.repeated(d.pos, first.pos, "%s has //idem:message twice", d.decl.spec.Name.Name)
			continue
		}
		said[d.decl] = d
		l.message(d.decl, d)
	}
	for _, g := range l.operations {
		for _, d := range g.decls {
			l.message(d, nil)
		}
	}
}

// message returns the message whose payload a type is.
func (l *loader) message(d *decl, about *directive) *message {
	name := d.spec.Name.Name
	if m := l.messages[name]; m != nil {
		return m
	}
	at := l.pkg.pos(d.spec.Name.Pos())
	m := &message{decl: d, Message: &model.Message{Name: lowerFirst(name), GoName: name, ContentType: "application/json", Summary: new(doc.Package).Synopsis(docText(d.doc)), Pos: at, Source: at.File + "#" + name}}
	l.messages[name] = m
	if m.Payload, m.known = l.payload(d, "a message"); m.Payload == nil {
		m.Payload = &model.Type{Name: name, Kind: model.Object, Declared: true, Pos: at}
	}
	nameAt := at
	if about != nil {
		for _, p := range about.params {
			switch p.name {
			case "name":
				if m.Name, nameAt = p.value, p.valuePos; !validName(p.value) {
					l.badName(p)
				}
			case "summary":
				m.Summary = p.value
			case "contentType":
				l.contentType(m, p)
			case "headers":
				l.headers(m, p)
			}
		}
	}
	for _, other := range l.contract.Messages {
		if other.Name == m.Name {
			l.taken(nameAt, other.Pos, "two messages are called %q", m.Name)
		}
	}
	l.contract.Messages = append(l.contract.Messages, m.Message)
	return m
}

// payload is the type of a declaration that must be an exported struct.
func (l *loader) payload(d *decl, what string) (*model.Type, bool) {
	name, at := d.spec.Name.Name, l.pkg.pos(d.spec.Name.Pos())
	switch {
	case !d.spec.Name.IsExported():
		l.problems.Addf(diag.NotAMessage, at, "give it a name with a capital letter", "%s is not exported, so that handlers cannot name it", name)
	case d.spec.Assign.IsValid():
		l.problems.Addf(diag.NotAMessage, at, "write the directive above the type itself", "%s is an alias", name)
	case d.spec.TypeParams != nil || l.pkg.structOf(d) == nil:
		l.problems.Addf(diag.NotAMessage, at, "make it a struct", "%s must be a struct without type parameters to be %s", name, what)
	default:
		h, ok := l.types.named(d, d.spec.Name)
		return h.Type, ok && !l.types.broken[h.Type]
	}
	return nil, false
}

func (l *loader) contentType(m *message, p param) {
	kind, _, err := mime.ParseMediaType(p.value)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		l.bad(p, "use application/json or a type that ends in +json", "content type %q is not JSON", p.value)
	}
	m.ContentType = p.value
}

// headers takes the struct that holds the headers of a message.
func (l *loader) headers(m *message, p param) {
	d := l.typeNamed(p)
	if d == nil {
		return
	}
	typ, ok := l.payload(d, "the headers of a message")
	if !ok {
		return
	}
	for _, f := range typ.Fields {
		switch f.Type.Kind {
		case model.Bool, model.Int, model.Float, model.String:
		default:
			ok = false
			l.problems.Addf(diag.NotAMessage, f.Pos, "use text, a number or a boolean", "header %q is no single value", f.Name)
		}
	}
	if ok {
		m.Headers = typ
	}
}

// typeNamed is the declaration that a parameter names, or nil.
func (l *loader) typeNamed(p param) *decl {
	d := l.pkg.decls[p.value]
	if d == nil {
		l.problems.Addf(diag.UnknownGoName, p.valuePos, diag.Suggest(p.value, l.pkg.typeNames), "%s names type %q, which package %s does not declare", p.name, p.value, l.pkg.name)
	}
	return d
}

// buildSends makes the sends.
func (l *loader) buildSends() {
	for _, g := range l.sends {
		s := &model.Send{ID: g.name, GoName: names.Go(g.name), Pos: g.first.pos, Source: g.first.pos.File + "#" + g.name}
		s.Summary, s.Description = g.text("summary"), g.text("description")
		s.Topic = l.topic(g)
		messages := l.sent(g)
		for _, m := range messages {
			s.Messages = append(s.Messages, m.Message)
		}
		if p, ok := g.get("ordering"); ok {
			part, ok := l.expression(p, p.value)
			for _, m := range messages {
				l.declareHeader(m, part.Header)
			}
			if ok && l.required(p, part, messages, "an ordering key") {
				s.OrderingKey = &part
			}
		}
		s.Dispatch = l.dispatch(g, s.Topic, messages)
		l.contract.Sends = append(l.contract.Sends, s)
	}
}

// sent are the messages of a send: those it names, else those it is written
// above.
func (l *loader) sent(g *group) []*message {
	if g.messages != nil {
		return g.messages
	}
	out := []*message{}
	defer func() { g.messages = out }()
	p, named := g.get("message")
	if !named {
		for _, d := range g.decls {
			out = append(out, l.message(d, nil))
		}
		if len(out) == 0 {
			l.problems.Addf(diag.MissingParam, g.first.pos, "add message=…, the Go type", "send %s has no message", g.name)
		}
		return out
	}
	for _, item := range p.list() {
		if d := l.typeNamed(item); d != nil {
			m := l.message(d, nil)
			if slices.Contains(out, m) {
				l.repeated(item.valuePos, p.pos, "message %s is named twice", item.value)
				continue
			}
			out = append(out, m)
		}
	}
	return out
}

func (g *group) text(name string) string {
	p, _ := g.get(name)
	return p.value
}

// list are the values between commas.
func (p param) list() []param {
	var out []param
	at := 0
	for item := range strings.SplitSeq(p.value, ",") {
		where := p.valuePos
		where.Col += len([]rune(p.value[:at]))
		out = append(out, param{name: p.name, value: item, pos: p.pos, valuePos: where})
		at += len(item) + 1
	}
	return out
}

func (l *loader) topic(g *group) string {
	p, ok := g.get("topic")
	switch {
	case !ok:
		l.problems.Addf(diag.MissingParam, g.first.pos, "add topic=…", "%s has no topic", g.name)
	case !validName(p.value):
		l.badName(p)
	}
	return p.value
}

func (l *loader) taken(at, other diag.Pos, format string, args ...any) {
	var list diag.List
	list.Addf(diag.TakenName, at, "give one another name", format, args...)
	p := list.Sorted()[0]
	p.Related = []diag.Related{{Pos: other, Note: "the other is here"}}
	l.problems.Add(p)
}

// checkNames reports names that generated code and the package both declare.
func (l *loader) checkNames() {
	seen := map[string]diag.Pos{}
	claim := func(name string, at diag.Pos, what string) {
		if own, ok := l.pkg.names[name]; ok {
			l.taken(l.pkg.pos(own), at, "%s is what idemgen generates for %s", name, what)
		}
		if other, ok := seen[name]; ok {
			l.taken(at, other, "idemgen would generate %s twice", name)
		}
		seen[name] = at
	}
	for _, op := range l.contract.Operations {
		for _, suffix := range []string{"", "Operation", "Handler"} {
			claim(op.GoName+suffix, op.Pos, "operation "+strconv.Quote(op.ID))
		}
		if len(op.Messages) > 1 {
			claim(op.GoName+"Message", op.Pos, "operation "+strconv.Quote(op.ID))
		}
	}
	for _, s := range l.contract.Sends {
		claim("Emit"+s.GoName, s.Pos, "send "+strconv.Quote(s.ID))
	}
	for _, m := range l.contract.Messages {
		if m.Headers != nil {
			claim(m.GoName+"HeadersFrom", m.Pos, "message "+strconv.Quote(m.Name))
			if !m.Headers.Declared {
				claim(m.Headers.Name, m.Pos, "message "+strconv.Quote(m.Name))
			}
		}
	}
	if len(l.contract.Operations) > 0 {
		for _, name := range []string{"Handlers", "Register", "Set"} {
			claim(name, l.contract.Operations[0].Pos, "every contract")
		}
	}
}

// lowerFirst makes pedidoCriado of PedidoCriado, httpErro of HTTPErro.
func lowerFirst(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}
