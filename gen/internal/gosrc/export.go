package gosrc

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// Export writes the AsyncAPI document of a contract, in YAML. The same
// contract always gives the same bytes.
func Export(c *model.Contract) []byte {
	e := &exporter{contract: c, channels: map[string]string{}, messages: map[*model.Message]string{}, schemas: map[*model.Type]string{}}
	var b strings.Builder
	writeYAML(&b, e.document(), 0)
	return []byte(b.String())
}

type exporter struct {
	contract *model.Contract
	channels map[string]string         // names of channels by topic
	messages map[*model.Message]string // keys of messages
	schemas  map[*model.Type]string    // keys of schemas
}

func (e *exporter) document() object {
	c := e.contract
	taken := map[string]bool{}
	for _, m := range c.Messages {
		e.messages[m] = unique(m.Name, taken)
	}
	taken = map[string]bool{}
	for _, t := range c.Types {
		e.schemas[t] = unique(t.Name, taken)
	}
	info := object{{"title", c.Title}, {"version", c.Version}}
	info.with("description", c.Description)
	doc := object{{"asyncapi", "3.0.0"}, {"info", info}, {"channels", e.channelObjects()}}
	operations := object{}
	for _, op := range c.Operations {
		operations = append(operations, member{op.ID, e.receive(op)})
	}
	for _, s := range c.Sends {
		operations = append(operations, member{s.ID, e.send(s)})
	}
	doc.with("operations", operations)
	components := object{}
	messages := object{}
	for _, m := range c.Messages {
		messages = append(messages, member{e.messages[m], e.message(m)})
	}
	components.with("messages", messages)
	schemas := object{}
	for _, t := range c.Types {
		schemas = append(schemas, member{e.schemas[t], e.definition(t)})
	}
	components.with("schemas", schemas)
	doc.with("components", components)
	return doc
}

var notInKey = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// unique makes a key of a name that no other has.
func unique(name string, taken map[string]bool) string {
	base := notInKey.ReplaceAllString(name, "-")
	key := base
	for n := 2; taken[key] || key == ""; n++ {
		key = base + "-" + strconv.Itoa(n)
	}
	taken[key] = true
	return key
}

// channelObjects makes a channel of each topic, with the messages of all the
// operations on it.
func (e *exporter) channelObjects() object {
	topics := map[string][]*model.Message{}
	add := func(topic string, messages []*model.Message) {
		for _, m := range messages {
			if !slices.Contains(topics[topic], m) {
				topics[topic] = append(topics[topic], m)
			}
		}
	}
	for _, op := range e.contract.Operations {
		add(op.Topic, op.Messages)
	}
	for _, s := range e.contract.Sends {
		add(s.Topic, s.Messages)
	}
	out := object{}
	taken := map[string]bool{}
	for _, topic := range sortedKeys(topics) {
		e.channels[topic] = unique(topic, taken)
		members := object{}
		for _, m := range topics[topic] {
			members = append(members, member{e.messages[m], ref("components", "messages", e.messages[m])})
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		out = append(out, member{e.channels[topic], object{{"address", topic}, {"messages", members}}})
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func ref(path ...string) object {
	var b strings.Builder
	b.WriteByte('#')
	for _, p := range path {
		b.WriteString("/" + source.Escape(p))
	}
	return object{{"$ref", b.String()}}
}

func (e *exporter) refs(topic string, messages []*model.Message) list {
	var out list
	for _, m := range messages {
		out = append(out, ref("channels", e.channels[topic], "messages", e.messages[m]))
	}
	return out
}

func (e *exporter) operation(action, topic, summary, description string, messages []*model.Message) object {
	out := object{{"action", action}, {"channel", ref("channels", e.channels[topic])}}
	out.with("summary", summary)
	out.with("description", description)
	return append(out, member{"messages", e.refs(topic, messages)})
}

func (e *exporter) send(s *model.Send) object {
	out := e.operation("send", s.Topic, s.Summary, s.Description, s.Messages)
	if s.OrderingKey != nil {
		out = append(out, member{"x-idempotency", object{{"ordering", keyExpression(*s.OrderingKey)}}})
	}
	return out
}

func keyExpression(k model.KeyPart) string {
	if k.Header != "" {
		return headerExpr + pointerTo(k.Header)
	}
	return payloadExpr + k.Pointer
}

// receive writes what differs from the defaults.
func (e *exporter) receive(op *model.Operation) object {
	x := object{}
	if op.ScopeWritten {
		x.with("scope", op.Scope)
	}
	var key list
	for _, k := range op.Key {
		key = append(key, keyExpression(k))
	}
	x = append(x, member{"key", key})
	if op.KeyVersion != 1 {
		x.with("keyVersion", count(op.KeyVersion))
	}
	x.with("ttl", duration(op.Retention))
	x.with("onMissingKey", unless(op.OnMissingKey, "deadletter"))
	if op.Fingerprint.None {
		x.with("fingerprint", "none")
	} else if len(op.Fingerprint.Pointers) > 0 {
		var pointers list
		for _, p := range op.Fingerprint.Pointers {
			pointers = append(pointers, payloadExpr+p)
		}
		x.with("fingerprint", pointers)
	}
	x.with("onConflict", unless(op.OnConflict, "deadletter"))
	x.with("retry", retryObject(op.Retry))
	x.with("transaction", unless(op.Transaction, "own"))
	if op.Result != nil {
		x.with("result", e.use(op.Result, false))
	}
	if op.Unordered {
		x.with("ordering", "none")
	}
	switch op.DeadLetterTopic {
	case "-":
		x.with("deadLetter", "none")
	default:
		x.with("deadLetter", op.DeadLetterTopic)
	}
	x.with("concurrency", count(op.Concurrency))
	x.with("ratePerSecond", decimal(op.RatePerSecond))
	x.with("dependency", op.Dependency)
	if b := op.Breaker; b != nil {
		breaker := object{}
		breaker.with("failures", count(b.Failures))
		breaker.with("openFor", duration(b.OpenFor))
		breaker.with("probes", count(b.Probes))
		x = append(x, member{"breaker", breaker})
	}
	if op.Emits != nil {
		emits := list{}
		for _, s := range op.Emits {
			emits = append(emits, ref("operations", s.ID))
		}
		x = append(x, member{"emits", emits})
	}
	fields := object{}
	for _, name := range sortedKeys(op.LogFields) {
		fields = append(fields, member{name, payloadExpr + op.LogFields[name]})
	}
	x.with("logFields", fields)
	out := e.operation("receive", op.Topic, op.Summary, op.Description, op.Messages)
	return append(out, member{"x-idempotency", x})
}

func retryObject(r model.Retry) object {
	out := object{}
	out.with("maxAttempts", count(r.MaxAttempts))
	if r.Quick != nil {
		out = append(out, member{"quick", number(strconv.Itoa(*r.Quick))})
	}
	if r.BackoffFactor == 0 && r.BackoffBase > 0 && r.BackoffMax > 0 {
		out.with("backoff", duration(r.BackoffBase)+".."+duration(r.BackoffMax))
	} else {
		backoff := object{}
		backoff.with("base", duration(r.BackoffBase))
		backoff.with("max", duration(r.BackoffMax))
		backoff.with("factor", decimal(r.BackoffFactor))
		out.with("backoff", backoff)
	}
	out.with("timeout", duration(r.Timeout))
	out.with("onBug", r.OnBug)
	return out
}

func unless(value, standard string) string {
	if value == standard {
		return ""
	}
	return value
}

func count(n int) number {
	if n == 0 {
		return ""
	}
	return number(strconv.Itoa(n))
}

func decimal(f float64) number {
	if f == 0 {
		return ""
	}
	out, _ := json.Marshal(f)
	return number(out)
}

// duration is "" for none.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return model.FormatDuration(d)
}

func (e *exporter) message(m *model.Message) object {
	out := object{{"name", m.Name}}
	out.with("summary", m.Summary)
	out.with("description", m.Description)
	out.with("contentType", unless(m.ContentType, "application/json"))
	if m.Headers != nil {
		out.with("headers", e.use(m.Headers, false))
	}
	out = append(out, member{"payload", e.use(m.Payload, false)})
	var examples list
	for _, x := range m.Examples {
		example := object{}
		example.with("name", x.Name)
		headers := object{}
		for _, name := range sortedKeys(x.Headers) {
			headers = append(headers, member{name, x.Headers[name]})
		}
		example.with("headers", headers)
		if x.Payload != nil {
			example = append(example, member{"payload", fromJSON(x.Payload)})
		}
		examples = append(examples, example)
	}
	if examples != nil {
		out = append(out, member{"examples", examples})
	}
	return out
}

// fromJSON keeps the order of members and every digit of numbers.
func fromJSON(text []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	v, err := nextJSON(dec)
	if err != nil {
		panic(fmt.Sprintf("gosrc: an example is not JSON: %v", err)) // the model has checked it
	}
	return v
}

func nextJSON(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Number:
		return number(v), nil
	case json.Delim:
		if v == '[' {
			out := list{}
			for dec.More() {
				item, err := nextJSON(dec)
				if err != nil {
					return nil, err
				}
				out = append(out, item)
			}
			_, err = dec.Token()
			return out, err
		}
		out := object{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			item, err := nextJSON(dec)
			if err != nil {
				return nil, err
			}
			out = append(out, member{name.(string), item})
		}
		_, err = dec.Token()
		return out, err
	default:
		return v, nil
	}
}
