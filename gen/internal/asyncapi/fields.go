package asyncapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

const extension = "x-idempotency"

// What fields the objects of AsyncAPI have. Those of objects that say nothing
// about messages (servers, bindings, tags …) are not looked at.
var (
	documentFields = []string{"asyncapi", "id", "info", "servers", "defaultContentType", "channels", "operations", "components"}
	infoFields     = []string{"title", "version", "description", "termsOfService", "contact", "license", "tags", "externalDocs"}
	channelFields  = []string{"address", "messages", "title", "summary", "description", "servers", "parameters", "tags", "externalDocs", "bindings"}

	operationTraitFields = []string{
		"title", "summary", "description", "security", "tags", "externalDocs", "bindings", "reply", "retry", "deadLetter",
	}
	operationFields = append([]string{"action", "channel", "messages", "traits"}, operationTraitFields...)

	messageTraitFields = []string{
		"headers", "correlationId", "contentType", "name", "title", "summary", "description", "tags", "externalDocs",
		"bindings", "examples", "deprecated",
	}
	messageFields = append([]string{"payload", "traits"}, messageTraitFields...)

	exampleFields = []string{"headers", "payload", "name", "summary"}
	formatFields  = []string{"schemaFormat", "schema"}

	componentFields = []string{
		"schemas", "servers", "channels", "operations", "messages", "securitySchemes", "serverVariables", "parameters",
		"correlationIds", "replies", "replyAddresses", "externalDocs", "tags", "operationTraits", "messageTraits",
		"serverBindings", "channelBindings", "operationBindings", "messageBindings",
	}
)

var extensionName = regexp.MustCompile(`^x-[\w.-]+$`)

// withExtension are the objects that x-idempotency may be part of.
var withExtension = []string{extension}

// object reports fields that an object does not have, and whether it is an
// object at all. extensions are the x- fields that mean something in it.
func (l *loader) object(n *source.Node, fields, extensions []string) bool {
	if n.Kind != source.Map {
		l.problems.Addf(diag.WrongKind, n.Pos, "", "must be an object, is %s", n.Kind)
		return false
	}
	for _, f := range n.Fields {
		switch {
		case slices.Contains(fields, f.Name) || slices.Contains(extensions, f.Name):
		case f.Name == extension:
			l.problems.Addf(diag.Misplaced, f.NamePos, "move it to an operation, a message or a trait of one", "%s has no meaning here", extension)
		case f.Name != extension && diag.Closest(f.Name, withExtension) != "":
			l.problems.Addf(diag.Misplaced, f.NamePos, "did you mean "+extension+"?", "%q would be ignored", f.Name)
		case extensionName.MatchString(f.Name):
		default:
			l.problems.Addf(diag.UnknownField, f.NamePos, diag.Suggest(f.Name, fields), "there is no field %q here", f.Name)
		}
	}
	return true
}

// need returns a member of an object, or nil after reporting that it is missing.
func (l *loader) need(n *source.Node, name string) *source.Node {
	v := n.Get(name)
	if v == nil || v.Kind == source.Null {
		l.problems.Addf(diag.MissingField, n.Pos, "add it", "%s is missing", name)
		return nil
	}
	return v
}

// text returns a member that is a string, or "".
func (l *loader) text(n *source.Node, name string) string {
	v := n.Get(name)
	if v == nil || v.Kind == source.Null {
		return ""
	}
	if v.Kind != source.String {
		l.problems.Addf(diag.WrongKind, v.Pos, "quote it if it is meant as text", "%s must be a string, is %s", name, v.Kind)
		return ""
	}
	return v.Text
}

// members returns those of an object with names of its own choice, such as
// channels; none if it is absent.
func (l *loader) members(n *source.Node, name string) []source.Field {
	v := n.Get(name)
	if v == nil || v.Kind == source.Null {
		return nil
	}
	if v.Kind != source.Map {
		l.problems.Addf(diag.WrongKind, v.Pos, "", "%s must be an object, is %s", name, v.Kind)
		return nil
	}
	return v.Fields
}

// items returns those of a list; none if it is absent.
func (l *loader) items(n *source.Node, name string) []*source.Node {
	v := n.Get(name)
	if v == nil || v.Kind == source.Null {
		return nil
	}
	if v.Kind != source.List {
		l.problems.Addf(diag.WrongKind, v.Pos, "", "%s must be a list, is %s", name, v.Kind)
		return nil
	}
	return v.Items
}

// reference returns where a value that must be a reference object leads to:
// the next node and the last one. They are nil after reporting why.
func (l *loader) reference(n *source.Node) (next, last *source.Node) {
	ref := n.Get("$ref")
	if ref == nil {
		l.problems.Addf(diag.WrongKind, n.Pos, "write {$ref: '#/…'}", "must be a reference")
		return nil, nil
	}
	if next = l.set.Target(ref); next == nil {
		return nil, nil
	}
	if last = l.set.Deref(next); last == nil {
		return nil, nil
	}
	return next, last
}

// components checks what is there for others to refer to.
func (l *loader) components() {
	n := l.root.Get("components")
	if n == nil || n.Kind == source.Null || !l.object(n, componentFields, nil) {
		return
	}
	for _, section := range n.Fields {
		members := l.members(n, section.Name)
		for _, m := range members {
			if m.Value.Get("$ref") != nil {
				l.set.Deref(m.Value)
				continue
			}
			switch section.Name {
			case "channels":
				l.channelShape(m.Value)
			case "messages":
				l.messageShape(m.Value)
			case "operations":
				l.operationShape(m.Value)
			case "messageTraits":
				l.traitShape(m.Value, messageTraitFields)
			case "operationTraits":
				l.traitShape(m.Value, operationTraitFields)
			}
		}
	}
}

// show is a value as messages show it.
func show(n *source.Node) string {
	switch n.Kind {
	case source.String:
		return fmt.Sprintf("%q", clip(n.Text))
	case source.List, source.Map:
		return "a " + strings.Replace(n.Kind.String(), "object", "mapping", 1)
	default:
		return clip(n.Text)
	}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

var validNameRE = regexp.MustCompile(`^[A-Za-z0-9._-]{1,120}$`)

// validName reports whether a name can be a topic, a consumer group and a
// column's value everywhere.
func validName(s string) bool { return validNameRE.MatchString(s) }

const nameRule = "use 1 to 120 letters, digits, '.', '_' or '-'"
