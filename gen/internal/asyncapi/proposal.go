package asyncapi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// An open proposal gives receive operations the fields retry and deadLetter
// (github.com/asyncapi/spec, issue 1234). What they say is read as the same
// in x-idempotency; what has no counterpart is refused.

// proposal returns the x-idempotency that retry and deadLetter of an operation
// amount to, or nil.
func (l *loader) proposal(o *operation) *source.Node {
	out := &source.Node{Kind: source.Map, Pos: o.def.Pos, File: o.def.File, Path: o.def.Path}
	if f := o.all.Field("retry"); f != nil && f.Value.Kind != source.Null {
		if n := l.proposedRetry(o, f.Value); n != nil {
			out.Fields = append(out.Fields, source.Field{Name: "retry", NamePos: f.NamePos, Value: n})
			own := o.all.Get(extension).Get("retry")
			for _, name := range []string{"maxAttempts", "backoff"} {
				if other := own.Field(name); other != nil {
					l.conflict(f, other)
					break
				}
			}
		}
	}
	if f := o.all.Field("deadLetter"); f != nil && f.Value.Kind != source.Null {
		if n := l.proposedDeadLetter(o, f.Value); n != nil {
			out.Fields = append(out.Fields, source.Field{Name: "deadLetter", NamePos: f.NamePos, Value: n})
			if other := o.all.Get(extension).Field("deadLetter"); other != nil {
				l.conflict(f, other)
			}
		}
	}
	if len(out.Fields) == 0 {
		return nil
	}
	return out
}

func (l *loader) conflict(f, other *source.Field) {
	l.problems.Add(diag.Problem{
		Code: diag.ProposalConflict, Pos: f.NamePos, Fix: "keep one of them",
		Message: f.Name + " is set here and in " + extension,
		Related: []diag.Related{{Pos: other.NamePos, Note: "the other"}},
	})
}

func (l *loader) part(at diag.Pos, fix, format string, args ...any) {
	l.problems.Addf(diag.ProposalPart, at, fix, format, args...)
}

// proposedRetry: maxAttempts counts retries there and runs here.
func (l *loader) proposedRetry(o *operation, n *source.Node) *source.Node {
	if !l.object(n, []string{"channel", "messages", "maxAttempts", "strategy"}, nil) {
		return nil
	}
	l.route(o, n, func(address string) string {
		if want := o.channel.address + ".retry." + l.scope(o); address != want {
			return fmt.Sprintf("retries come back on %q, not on %q", want, address)
		}
		return ""
	})
	at := l.need(n, "maxAttempts")
	if at == nil {
		return nil
	}
	retries := l.integer(at, "maxAttempts", 1)
	if retries == 0 {
		return nil
	}
	number := func(pos diag.Pos, v string) *source.Node {
		return &source.Node{Kind: source.Int, Text: v, Pos: pos, File: n.File, Path: n.Path}
	}
	out := &source.Node{Kind: source.Map, Pos: n.Pos, File: n.File, Path: n.Path, Fields: []source.Field{
		{Name: "maxAttempts", NamePos: n.Pos, Value: number(at.Pos, strconv.Itoa(retries+1))},
		// The delays are for every retry: none comes before them.
		{Name: "quick", NamePos: n.Pos, Value: number(at.Pos, "0")},
	}}
	if s := l.need(n, "strategy"); s != nil {
		if b := l.strategy(s, retries); b != nil {
			out.Fields = append(out.Fields, source.Field{Name: "backoff", NamePos: s.Pos, Value: b})
		}
	}
	return out
}

// strategy returns the backoff that a strategy amounts to, or nil after
// reporting why there is none. Its delays become the longest ones: each is
// drawn at random below them.
func (l *loader) strategy(n *source.Node, retries int) *source.Node {
	kinds := map[string][]string{
		"fixed":       {"type", "delay"},
		"exponential": {"type", "initialDelay", "multiplier", "maxDelay"},
	}
	if n.Kind != source.Map {
		l.object(n, nil, nil)
		return nil
	}
	kind := l.need(n, "type")
	switch {
	case kind == nil:
		return nil
	case kind.Text == "linear":
		l.part(kind.Pos, "use fixed or exponential", "delays that grow by a fixed amount are not supported")
		return nil
	case kinds[kind.Text] == nil:
		l.part(kind.Pos, diag.Suggest(kind.Text, []string{"fixed", "exponential"}), "there is no strategy %s", show(kind))
		return nil
	}
	if !l.object(n, kinds[kind.Text], nil) {
		return nil
	}
	scalar := func(kind source.Kind, text string) *source.Node {
		return &source.Node{Kind: kind, Text: text, Pos: n.Pos, File: n.File, Path: n.Path}
	}
	backoff := func(base, limit time.Duration, factor string) *source.Node {
		out := scalar(source.Map, "")
		for name, v := range map[string]*source.Node{
			"base": scalar(source.String, base.String()), "max": scalar(source.String, limit.String()), "factor": scalar(source.Float, factor),
		} {
			out.Fields = append(out.Fields, source.Field{Name: name, NamePos: n.Pos, Value: v})
		}
		slices.SortFunc(out.Fields, func(a, b source.Field) int { return int(a.Name[0]) - int(b.Name[0]) })
		return out
	}
	if kind.Text == "fixed" {
		if d := l.isoMember(n, "delay"); d > 0 {
			return backoff(d, d, "1")
		}
		return nil
	}
	base, multiplier := l.isoMember(n, "initialDelay"), l.need(n, "multiplier")
	if base == 0 || multiplier == nil {
		return nil
	}
	factor := l.number(multiplier, "multiplier", 1)
	if factor == 0 {
		return nil
	}
	if n.Get("maxDelay") != nil {
		limit := l.isoMember(n, "maxDelay")
		if limit == 0 {
			return nil
		}
		return backoff(min(base, limit), limit, multiplier.Text)
	}
	last := float64(base) * math.Pow(factor, float64(retries-1))
	if last > float64(365*day) {
		l.part(n.Pos, "add maxDelay", "the last retry would wait for more than a year")
		return nil
	}
	return backoff(base, time.Duration(last), multiplier.Text)
}

// isoMember reads a duration as the proposal writes it, PT1M30S; 0 after reporting.
func (l *loader) isoMember(n *source.Node, name string) time.Duration {
	v := l.need(n, name)
	if v == nil {
		return 0
	}
	d, ok := parseISO(v.Text)
	if v.Kind != source.String || !ok || d <= 0 {
		l.problems.Addf(diag.BadDuration, v.Pos, "write it as PT30S or PT1M30S", "%s %s is not an ISO 8601 duration", name, show(v))
		return 0
	}
	return d
}

// proposedDeadLetter returns the topic of dead letters.
func (l *loader) proposedDeadLetter(o *operation, n *source.Node) *source.Node {
	if !l.object(n, []string{"channel", "messages", "maxWaitTime"}, nil) {
		return nil
	}
	if f := n.Field("maxWaitTime"); f != nil {
		l.part(f.NamePos, "remove it", "maxWaitTime has no meaning here: a dead letter is written with the outcome")
	}
	if n.Get("channel") == nil {
		l.need(n, "channel")
		return nil
	}
	var topic string
	l.route(o, n, func(address string) string {
		topic = address
		return ""
	})
	if topic == "" {
		return nil
	}
	at := n.Get("channel").Pos
	return &source.Node{Kind: source.String, Text: topic, Pos: at, File: n.File, Path: n.Path}
}

// route checks where messages go: the channel by its address, and that they
// are the operation's own, unchanged.
func (l *loader) route(o *operation, n *source.Node, wrong func(address string) string) {
	var c *channel
	if ch := n.Get("channel"); ch != nil {
		_, def := l.reference(ch)
		if def == nil {
			return
		}
		if c = l.channel(def, lastToken(def.Path)); c == nil || c.address == "" {
			return
		}
		if what := wrong(c.address); what != "" {
			l.part(ch.Pos, "change the address, or leave the channel out", "%s", what)
		}
	}
	for _, item := range l.items(n, "messages") {
		next, last := l.reference(item)
		if last == nil {
			continue
		}
		if c != nil && !c.has(next) {
			l.part(item.Get("$ref").Pos, c.hint(), "%s is not a message of channel %q", show(item.Get("$ref")), c.id)
			continue
		}
		if !slices.ContainsFunc(o.messages, func(m *message) bool { return m.def == last }) {
			l.part(item.Get("$ref").Pos, "refer to the operation's own message", "messages are passed on as they came: %s is another one", show(item.Get("$ref")))
		}
	}
}

// scope is that of an operation before everything is merged.
func (l *loader) scope(o *operation) string {
	if s := o.all.Get(extension).Get("scope"); s != nil && s.Kind == source.String {
		return s.Text
	}
	return o.id
}
