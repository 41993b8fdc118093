package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// operation is one as the templates see it.
type operation struct {
	*model.Operation
	// Payload is the Go type that the engine decodes: the message's, or, if
	// Wrapped, a struct with a pointer for each message.
	Payload string
	Wrapped bool
	Arms    []arm
	// Result is the Go type of what an external call returns.
	Result string
	Spec   []string // fields of the idem.Operation
}

// External reports whether the effect is outside the database.
func (o *operation) External() bool { return o.Transaction == "external" }

// Batch reports whether the handler gets several messages at once.
func (o *operation) Batch() bool { return o.Transaction == "batch" }

// Kind ends the names of what the library has for this kind of handler.
func (o *operation) Kind() string {
	switch {
	case o.External():
		return "External"
	case o.Batch():
		return "Batch"
	}
	return ""
}

// Doc are the paragraphs of the comment.
func (o *operation) Doc() []string {
	names := make([]string, len(o.Messages))
	for i, m := range o.Messages {
		names[i] = m.Name
	}
	return []string{fmt.Sprintf("%s handles %s from %q.", o.GoName, strings.Join(names, ", "), o.Topic), o.Summary, o.Description}
}

// arm is a message of an operation.
type arm struct {
	*model.Message
	Type   string // Go type of the payload
	Method string // of the handler
	Value  string // what the dispatch has for it
}

// payloadType is the Go type of a message's payload.
func payloadType(m *model.Message) string {
	if m.Payload.Name != "" {
		return m.Payload.Name
	}
	return m.GoName
}

func newOperations(c *model.Contract, s Settings) []*operation {
	// A payload type that messages with other headers share cannot check them.
	headers := map[string]*model.Type{}
	shared := map[string]bool{}
	for _, m := range c.Messages {
		name := payloadType(m)
		if other, ok := headers[name]; ok && other != m.Headers {
			shared[name] = true
		}
		headers[name] = m.Headers
	}
	var ops []*operation
	for _, op := range c.Operations {
		o := &operation{Operation: op, Wrapped: len(op.Messages) > 1 || op.Dispatch != nil, Result: "json.RawMessage"}
		for i, m := range op.Messages {
			a := arm{Message: m, Type: payloadType(m), Method: "Handle"}
			if len(op.Messages) > 1 {
				a.Method += m.GoName
			}
			if op.Dispatch != nil && i < len(op.Dispatch.Values) {
				a.Value = op.Dispatch.Values[i]
			}
			o.Wrapped = o.Wrapped || shared[a.Type]
			o.Arms = append(o.Arms, a)
		}
		if o.Payload = o.Arms[0].Type; o.Wrapped {
			o.Payload = op.GoName + "Message"
		}
		if op.Result != nil {
			o.Result = goType(op.Result)
		}
		o.Spec = spec(op, s.Previous[op.ID])
		ops = append(ops, o)
	}
	return ops
}

// spec are the fields of the idem.Operation, without those that only say what
// the library does anyway.
func spec(op *model.Operation, previous []Recipe) []string {
	f := []string{
		"Name: " + strconv.Quote(op.Scope), "Topic: " + strconv.Quote(op.Topic),
		"Key: " + recipe(op, previous),
	}
	add := func(set bool, text string) {
		if set {
			f = append(f, text)
		}
	}
	if d := op.Dispatch; d != nil && len(d.Others) > 0 {
		where := "Pointer: " + goString(d.Pointer)
		if d.Header != "" {
			where = "Header: " + goString(d.Header)
		}
		add(true, "Others: idem.Selector{"+where+", Values: "+stringList(d.Others)+"}")
	}
	add(op.OnMissingKey == "fail", "OnMissingKey: idem.MissingFails")
	add(op.OnMissingKey == "derive", "OnMissingKey: idem.MissingDerives")
	add(op.OnConflict == "discard", "OnKeyReuse: idem.ReuseDiscards")
	add(!op.Fingerprint.Same(model.Fingerprint{}), "Fingerprint: "+fingerprint(op.Fingerprint))
	add(op.Transaction == "group", "Transaction: idem.TransactionGroup")
	add(op.Transaction == "external", "Transaction: idem.TransactionExternal")
	add(op.Unordered, "Unordered: true")
	p := policy(op.Retry)
	add(p != "", "Policy: "+p)
	add(op.Retention != 0, "Retention: "+goDuration(op.Retention))
	add(op.DeadLetterTopic == "-", "DeadLetterTopic: idem.NoDeadLetterTopic")
	add(op.DeadLetterTopic != "" && op.DeadLetterTopic != "-", "DeadLetterTopic: "+strconv.Quote(op.DeadLetterTopic))
	add(op.Concurrency != 0, "Concurrency: "+strconv.Itoa(op.Concurrency))
	add(op.RatePerSecond != 0, "RatePerSecond: "+strconv.FormatFloat(op.RatePerSecond, 'g', -1, 64))
	add(op.Dependency != "", "Dependency: "+strconv.Quote(op.Dependency))
	var topics []string
	for _, s := range op.Emits {
		topics = append(topics, s.Topic)
	}
	slices.Sort(topics)
	f = append(f, "Emits: "+stringList(slices.Compact(topics))) // an empty list forbids, nil would allow
	if len(op.LogFields) > 0 {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(op.LogFields)) {
			list = append(list, strconv.Quote(name)+": "+strconv.Quote(op.LogFields[name]))
		}
		f = append(f, "LogFields: map[string]string{"+strings.Join(list, ", ")+"}")
	}
	return f
}

func stringList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return "[]string{" + strings.Join(quoted, ", ") + "}"
}

// emitter is a function that emits one message of a send operation.
type emitter struct {
	send    *model.Send
	Name    string
	Doc     []string
	Topic   string
	Type    string
	Headers string // Go type of the headers; "" is none
	// NameHeader and NameValue tell the receiver which message it is.
	NameHeader, NameValue string
	// KeyPath leads to the ordering key in the payload, KeyHeader names the
	// header that is it; both empty take that of the message being handled.
	KeyPath   []string
	KeyHeader string
}

func emitters(c *model.Contract) []emitter {
	var out []emitter
	for _, s := range c.Sends {
		for i, m := range s.Messages {
			e := emitter{send: s, Name: "Emit" + s.GoName, Topic: s.Topic, Type: payloadType(m)}
			if len(s.Messages) > 1 {
				e.Name += m.GoName
			}
			e.Doc = []string{
				fmt.Sprintf("%s emits %s to %q when the handler that calls it has succeeded.", e.Name, m.Name, s.Topic),
				s.Summary, s.Description,
			}
			if m.Headers != nil {
				e.Headers = goType(m.Headers)
			}
			if s.Dispatch != nil && s.Dispatch.Header != "" && i < len(s.Dispatch.Values) {
				e.NameHeader, e.NameValue = s.Dispatch.Header, s.Dispatch.Values[i]
			}
			if k := s.OrderingKey; k != nil {
				e.KeyPath, e.KeyHeader = tokens(k.Pointer), k.Header
			}
			out = append(out, e)
		}
	}
	return out
}

// headersOf is a message whose headers are declared.
type headersOf struct {
	Func, Type, Message string
	// Payload is the type whose decoding checks the headers; "" if the
	// operations' own types do.
	Payload       string
	Texts, Values string // names of headers, as lists in Go
}

func (r *renderer) declaredHeaders() []headersOf {
	direct := map[string]bool{} // payload types that the engine decodes
	for _, o := range r.ops {
		if !o.Wrapped {
			direct[o.Payload] = true
		}
	}
	done := map[string]bool{}
	var out []headersOf
	for _, m := range r.contract.Messages {
		if m.Headers == nil {
			continue
		}
		h := headersOf{Func: m.GoName + "HeadersFrom", Type: goType(m.Headers), Message: m.Name}
		if t := payloadType(m); direct[t] && !done[t] {
			h.Payload, done[t] = t, true
		}
		var texts, values []string
		for _, f := range m.Headers.Fields {
			if f.Type.Kind == model.String {
				texts = append(texts, f.Name)
			} else {
				values = append(values, f.Name)
			}
		}
		h.Texts, h.Values = stringList(texts), stringList(values)
		out = append(out, h)
	}
	return out
}

// operations renders operations_gen.go.
func (r *renderer) operations() {
	data := struct {
		Operations                        []*operation
		Emitters                          []emitter
		Headers                           []headersOf
		TextAt, ReadHeaders, WriteHeaders bool // helpers that are needed
	}{Operations: r.ops, Emitters: emitters(r.contract), Headers: r.declaredHeaders()}
	use := imports{library + "/framework/idem": "", "github.com/google/wire": "", "context": std}
	for _, o := range r.ops {
		if strings.Contains(strings.Join(o.Spec, " "), "time.") {
			use["time"] = std
		}
		if o.External() && strings.Contains(o.Result, "json.") {
			use["encoding/json"] = std
		}
		if o.Wrapped {
			use[contractPath] = ""
			use["errors"] = std
			use["encoding/json"] = std
			data.TextAt = data.TextAt || o.Dispatch != nil && o.Dispatch.Pointer != ""
		}
	}
	if len(r.ops) > 0 {
		use["errors"] = std
	}
	for _, h := range data.Headers {
		data.ReadHeaders = true
		if h.Payload != "" {
			use[contractPath] = ""
		}
	}
	for _, e := range data.Emitters {
		use["fmt"] = std
		data.WriteHeaders = data.WriteHeaders || e.Headers != ""
		if len(e.KeyPath) > 0 {
			data.TextAt = true
		}
	}
	if data.WriteHeaders {
		use["maps"], use["slices"], use["fmt"] = std, std, std
	}
	if data.ReadHeaders {
		use["fmt"] = std
	}
	if data.TextAt || data.ReadHeaders || data.WriteHeaders {
		use["encoding/json"] = std
	}
	if len(r.ops) == 0 && len(data.Emitters) == 0 {
		delete(use, "context")
	}
	r.goFile(goFile{
		path: path.Join(r.settings.Messages, "operations_gen.go"), source: r.contract.Source, pkg: r.pkg,
		imports: use, template: "operations.tmpl", data: data,
	})
}
