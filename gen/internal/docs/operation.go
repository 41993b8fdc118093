package docs

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/idem-go/idem/gen/internal/model"
)

// What the library does where the contract says nothing; a test compares them
// with framework/idem.
const (
	defaultRetention   = 192 * time.Hour
	defaultAttempts    = 5
	defaultBase        = 200 * time.Millisecond
	defaultMax         = 30 * time.Second
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 8
	deadLetterSuffix   = ".dlq"
)

func columns() []string {
	return []string{"Operation", "Topic", "Messages", "Key", "Key version", "Retention", "Retries", "Transaction", "Dependency", "Dead letters"}
}

// viewer turns the parts of a contract into what a page shows.
type viewer struct {
	anchors   map[*model.Type]string
	inMessage map[*model.Type]bool // shown with a message, not by itself
	emitters  map[*model.Send][]*model.Operation
}

func newViewer(c *model.Contract) *viewer {
	v := &viewer{
		anchors: map[*model.Type]string{}, inMessage: map[*model.Type]bool{},
		emitters: map[*model.Send][]*model.Operation{},
	}
	for _, t := range c.Types {
		v.anchors[t] = anchor("type", t.Name)
	}
	for _, m := range c.Messages {
		for _, t := range []*model.Type{m.Payload, m.Headers} {
			if t != nil && !v.inMessage[t] {
				v.inMessage[t] = true
				v.anchors[t] = anchor("message", m.Name)
			}
		}
	}
	for _, o := range c.Operations {
		for _, s := range o.Emits {
			v.emitters[s] = append(v.emitters[s], o)
		}
	}
	return v
}

func (v *viewer) operation(o *model.Operation) operation {
	out := operation{
		ID: o.ID, Anchor: anchor("operation", o.ID), Description: about(o.Summary, o.Description),
		Row: []cell{
			{linked(o.ID, anchor("operation", o.ID))},
			{code(o.Topic)},
			messageLinks(o.Messages),
			key(o.Key),
			{plain("%d", max(o.KeyVersion, 1))},
			{orDefault(o.Retention, defaultRetention)},
			retries(o.Retry),
			{plain("%s", o.Transaction)},
			{plain("–")},
			deadLetters(o),
		},
	}
	if o.Dependency != "" {
		out.Row[8] = cell{code(o.Dependency)}
	}
	out.Facts = v.facts(o)
	return out
}

// facts are those that are worth a line: what differs from the ordinary, and
// what decides about a message.
func (v *viewer) facts(o *model.Operation) []fact {
	var facts []fact
	add := func(name string, value ...text) { facts = append(facts, fact{name, value}) }

	if o.Scope != o.ID {
		add("Scope", code(o.Scope))
	}
	add("Without a key", plain("%s", map[string]string{
		"": "dead letter", "deadletter": "dead letter", "fail": "the consumer pauses",
		"derive": "the message id, else the position in the topic, is the key",
	}[o.OnMissingKey]))
	switch {
	case o.Fingerprint.None:
		add("Same key, other content", plain("is not looked at"))
	case len(o.Fingerprint.Pointers) > 0:
		facts = append(facts, fact{"Same content means", append(cell{plain("the same values at ")}, codes(", ", o.Fingerprint.Pointers)...)})
		add("Same key, other content", plain("%s", conflict(o)))
	default:
		add("Same key, other content", plain("%s", conflict(o)))
	}
	if o.Dispatch != nil {
		facts = append(facts, fact{"Messages are told apart by", dispatch(o.Dispatch, o.Messages)})
		if len(o.Dispatch.Others) > 0 {
			facts = append(facts, fact{"Lets pass", codes(", ", o.Dispatch.Others)})
		}
	}
	if o.Unordered {
		add("Order", plain("none: a message that waits holds back no other"))
	} else {
		add("Order", plain("by key"))
	}
	if bug := o.Retry.OnBug; bug == "deadletter" {
		add("After a bug", plain("dead letter once the attempts are used up"))
	} else {
		add("After a bug", plain("the consumer pauses once the attempts are used up"))
	}
	add("Messages at a time", plain("%d in each process", defaulted(o.Concurrency, defaultConcurrency)))
	if o.RatePerSecond > 0 {
		add("At most", plain("%s a second in each process", strconv.FormatFloat(o.RatePerSecond, 'f', -1, 64)))
	}
	if b := o.Breaker; b != nil {
		facts = append(facts, fact{"Circuit breaker", breaker(b)})
	}
	if o.Result != nil {
		facts = append(facts, fact{"Result of the call", v.typeOf(o.Result, false)})
	}
	if len(o.Emits) > 0 {
		cells := make([]cell, len(o.Emits))
		for i, s := range o.Emits {
			cells[i] = cell{linked(s.ID, anchor("send", s.ID)), plain(" to "), code(s.Topic)}
		}
		facts = append(facts, fact{"Emits", join(", ", cells...)})
	}
	if len(o.LogFields) > 0 {
		var cells []cell
		for _, name := range slices.Sorted(maps.Keys(o.LogFields)) {
			cells = append(cells, cell{code(name), plain(" from "), code(o.LogFields[name])})
		}
		facts = append(facts, fact{"Log fields", join(", ", cells...)})
	}
	return facts
}

func conflict(o *model.Operation) string {
	if o.OnConflict == "discard" {
		return "discarded, with a record of it"
	}
	return "dead letter"
}

func (v *viewer) send(s *model.Send) send {
	out := send{ID: s.ID, Anchor: anchor("send", s.ID), Description: about(s.Summary, s.Description)}
	add := func(name string, value cell) { out.Facts = append(out.Facts, fact{name, value}) }
	add("Topic", cell{code(s.Topic)})
	add("Messages", messageLinks(s.Messages))
	if s.Dispatch != nil {
		add("Messages are told apart by", dispatch(s.Dispatch, s.Messages))
	}
	if s.OrderingKey != nil {
		add("Ordering key", key([]model.KeyPart{*s.OrderingKey}))
	} else {
		add("Ordering key", cell{plain("that of the message being handled")})
	}
	var by []cell
	for _, o := range v.emitters[s] {
		by = append(by, cell{linked(o.ID, anchor("operation", o.ID))})
	}
	if len(by) > 0 {
		add("Emitted by", join(", ", by...))
	}
	return out
}

func messageLinks(messages []*model.Message) cell {
	cells := make([]cell, len(messages))
	for i, m := range messages {
		cells[i] = cell{linked(m.Name, anchor("message", m.Name))}
	}
	return join(", ", cells...)
}

func key(parts []model.KeyPart) cell {
	cells := make([]cell, len(parts))
	for i, p := range parts {
		if p.Header != "" {
			cells[i] = cell{plain("header "), code(p.Header)}
		} else {
			cells[i] = cell{code(p.Pointer)}
		}
	}
	return join(" + ", cells...)
}

func dispatch(d *model.Dispatch, messages []*model.Message) cell {
	out := cell{plain("payload "), code(d.Pointer)}
	if d.Header != "" {
		out = cell{plain("header "), code(d.Header)}
	}
	for i, value := range d.Values {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		out = append(out, plain("%s", separator), code(value))
		if i < len(messages) && messages[i].Name != value {
			out = append(out, plain(" is "), linked(messages[i].Name, anchor("message", messages[i].Name)))
		}
	}
	return out
}

func retries(r model.Retry) cell {
	attempts := defaulted(r.MaxAttempts, defaultAttempts)
	timeout := duration(defaulted(r.Timeout, defaultTimeout))
	if attempts == 1 {
		return cell{plain("none, %s for the run", timeout)}
	}
	base := defaulted(r.BackoffBase, defaultBase)
	return cell{plain("%d runs of %s, %s to %s apart", attempts, timeout, duration(base), duration(max(base, defaulted(r.BackoffMax, defaultMax))))}
}

func deadLetters(o *model.Operation) cell {
	if topic := deadLetterTopic(o); topic != "" {
		return cell{code(topic)}
	}
	return cell{plain("in the store only")}
}

// deadLetterTopic returns "" if dead letters are kept in the store only.
func deadLetterTopic(o *model.Operation) string {
	switch o.DeadLetterTopic {
	case "":
		return o.Topic + deadLetterSuffix
	case "-":
		return ""
	}
	return o.DeadLetterTopic
}

func breaker(b *model.Breaker) cell {
	var cells []cell
	if b.Failures > 0 {
		cells = append(cells, cell{plain("opens after %d failures", b.Failures)})
	}
	if b.OpenFor > 0 {
		cells = append(cells, cell{plain("stays open for %s", duration(b.OpenFor))})
	}
	if b.Probes > 0 {
		cells = append(cells, cell{plain("then lets %d through", b.Probes)})
	}
	return join(", ", cells...)
}

func orDefault(d, otherwise time.Duration) text {
	if d == 0 {
		return plain("%s (default)", duration(otherwise))
	}
	return plain("%s", duration(d))
}

func defaulted[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
