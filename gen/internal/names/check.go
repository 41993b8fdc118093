package names

import (
	"strconv"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// own are the identifiers of the package of messages that no name of the
// contract asks for.
func own() []string { return []string{"Handlers", "Register", "Set"} }

// Check reports names of operations, sends and headers that generated code
// declares twice, or that are those of a type. Types that clash with each other
// are not its business.
func Check(c *model.Contract, problems *diag.List) {
	var s Scope
	for _, name := range own() {
		s.Claim(name, "a name of generated code", diag.Pos{})
	}
	for _, o := range c.Operations {
		what := "operation " + strconv.Quote(o.ID)
		for _, suffix := range []string{"", "Operation", "Handler"} {
			s.Claim(o.GoName+suffix, what, o.Pos)
		}
		if o.Dispatch != nil {
			s.Claim(o.GoName+"Message", what, o.Pos)
		}
	}
	for _, send := range c.Sends {
		what := "send operation " + strconv.Quote(send.ID)
		for _, m := range send.Messages {
			name := "Emit" + send.GoName
			if len(send.Messages) > 1 {
				name += m.GoName
			}
			s.Claim(name, what, send.Pos)
		}
	}
	for _, m := range c.Messages {
		if m.Headers != nil {
			s.Claim(m.GoName+"HeadersFrom", "the headers of message "+strconv.Quote(m.Name), m.Pos)
		}
	}
	for _, t := range c.Types {
		if _, ok := s.claims[t.Name]; ok {
			s.Claim(t.Name, "the schema at "+t.Source, t.Pos)
		}
		for _, v := range t.Enum {
			if _, ok := s.claims[v.GoName]; ok {
				s.Claim(v.GoName, "a value of the enum at "+t.Source, t.Pos)
			}
		}
	}
	s.Report(problems)
	fields(c, problems)
}

// fields reports messages for which one struct has no fields: that of an
// operation whose channel has several of them.
func fields(c *model.Contract, problems *diag.List) {
	var s Scope
	for _, o := range c.Operations {
		for _, m := range o.Messages {
			if o.Dispatch != nil && (m.GoName == "DecodeMessage" || m.GoName == "MarshalJSON") {
				s.Claim(m.GoName, "a method of generated code", diag.Pos{})
			}
		}
	}
	payloads := map[string]*model.Type{}
	for _, m := range c.Messages {
		if other, ok := payloads[m.GoName]; ok && other != m.Payload {
			continue // that two types have one name was said before
		}
		payloads[m.GoName] = m.Payload
		s.Claim(m.GoName, "message "+strconv.Quote(m.Name), m.Pos)
	}
	s.Report(problems)
}
