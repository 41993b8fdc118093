package asyncapi

import (
	"cmp"
	"fmt"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// optionNames are the fields of x-idempotency.
var optionNames = []string{
	"scope", "key", "keyVersion", "ttl", "onMissingKey", "fingerprint", "onConflict", "retry", "transaction", "result",
	"ordering", "deadLetter", "concurrency", "ratePerSecond", "dependency", "breaker", "emits", "logFields",
}

// effective is the x-idempotency of a consumer: what the operation and its
// traits say, then the message and its traits, then the defaults. All its
// messages must lead to the same.
func (l *loader) effective(o *operation) *config {
	own := l.patch(l.proposal(o), o.all.Get(extension), 0)
	var first *source.Node
	for i, m := range o.messages {
		n := l.patch(l.opt.Defaults, m.all.Get(extension), 0)
		n = l.patch(n, own, 0)
		if i == 0 {
			first = n
			continue
		}
		if !equal(first, n) {
			l.differ(o, o.messages[0], m, first, n)
			break
		}
	}
	if first == nil {
		first = &source.Node{Kind: source.Map, Pos: o.def.Pos, File: o.def.File, Path: o.def.Path}
	}
	return l.decode(first)
}

// differ reports the first field that two messages of an operation disagree on.
func (l *loader) differ(o *operation, a, b *message, x, y *source.Node) {
	place := func(n *source.Node, m *message, name string) diag.Related {
		if f := n.Field(name); f != nil {
			return diag.Related{Pos: f.Value.Pos, Note: fmt.Sprintf("of message %q", m.name)}
		}
		return diag.Related{Pos: m.namePos, Note: fmt.Sprintf("message %q does not say", m.name)}
	}
	for _, name := range optionNames {
		if equal(x.Get(name), y.Get(name)) {
			continue
		}
		l.problems.Add(diag.Problem{
			Code: diag.RecipesDiffer, Pos: o.idPos,
			Message: fmt.Sprintf("messages %q and %q ask for a different %s", a.name, b.name, name),
			Fix:     "set " + name + " in the operation's x-idempotency",
			Related: []diag.Related{place(x, a, name), place(y, b, name)},
		})
		return
	}
}

// checkReceive checks what fields say together.
func (l *loader) checkReceive(o *operation, c *config, out *model.Operation) {
	if c.scope == "" && !c.has("scope") && !validName(o.id) {
		l.problems.Addf(diag.BadName, o.idPos, nameRule+", or set scope", "operation %q cannot be a scope", clip(o.id))
	}
	if c.orderingKey != nil {
		l.problems.Addf(diag.BadOrdering, c.at("ordering"), "use key or none; what the key is says the send operation",
			"a receive operation cannot choose its ordering key")
	}
	if t := out.DeadLetterTopic; t != "" && (t == out.Topic || t == out.Topic+".retry."+out.Scope) {
		l.problems.Addf(diag.DeadLetterLoop, c.at("deadLetter"), "choose another topic, or none",
			"dead letters of %q would come back to it", o.id)
	}
	if c.has("result") && out.Transaction != "external" {
		l.problems.Addf(diag.ResultOfOwn, c.at("result"), "add transaction: external, or remove result",
			"a result belongs to a call outside the database")
	}
	if c.has("breaker") && !c.has("dependency") {
		l.problems.Addf(diag.BreakerAlone, c.at("breaker"), "add dependency: and a name", "the breaker has no dependency to guard")
	}
	l.checkRetention(o, c)
}

// checkRetention: a key must outlive the last try of its message.
func (l *loader) checkRetention(o *operation, c *config) {
	if !c.has("ttl") && !c.has("retry") || c.has("ttl") && c.ttl == 0 {
		return
	}
	ttl := cmp.Or(c.ttl, 192*time.Hour) // idem.Operation.Retention
	limit := horizon(c.retry)
	if ttl > limit {
		return
	}
	p := diag.Problem{
		Code: diag.ShortRetention, Pos: c.at("ttl"),
		Message: fmt.Sprintf("keys of %q are forgotten after %s, but retries may take %s", o.id, model.FormatDuration(ttl), model.FormatDuration(limit)),
		Fix:     "raise ttl, or lower retry",
	}
	if !c.has("ttl") {
		p.Pos = c.at("retry")
	} else if c.has("retry") {
		p.Related = []diag.Related{{Pos: c.at("retry"), Note: "the retries"}}
	}
	l.problems.Add(p)
}

// horizon is how long the tries of one message may take, without the time that
// it waits for others.
func horizon(r retry) time.Duration {
	r.withDefaults()
	sum := float64(r.MaxAttempts) * float64(r.Timeout)
	delay := float64(r.BackoffBase)
	for i := 1; i < r.MaxAttempts; i++ {
		if delay >= float64(r.BackoffMax) || r.BackoffFactor <= 1 {
			sum += min(delay, float64(r.BackoffMax)) * float64(r.MaxAttempts-i)
			break
		}
		sum += delay
		delay *= r.BackoffFactor
	}
	return time.Duration(min(sum, 1<<62)).Round(time.Millisecond)
}

// scopes reports consumers that would share their keys.
func (l *loader) scopes(operations []*operation, models []*model.Operation, configs []*config) {
	first := map[string]int{}
	at := func(i int) diag.Pos {
		if configs[i].has("scope") {
			return configs[i].at("scope")
		}
		return operations[i].idPos
	}
	for i, m := range models {
		j, ok := first[m.Scope]
		if !ok {
			first[m.Scope] = i
			continue
		}
		p := diag.Problem{
			Code: diag.DuplicateScope, Pos: at(i), Fix: "give each operation a scope of its own",
			Message: fmt.Sprintf("operations %q and %q have the scope %q", models[j].ID, m.ID, m.Scope),
		}
		if at(i) != at(j) {
			p.Related = []diag.Related{{Pos: at(j), Note: fmt.Sprintf("of %q", models[j].ID)}}
		}
		l.problems.Add(p)
	}
}

// breakers reports dependencies that two operations describe differently.
func (l *loader) breakers(models []*model.Operation, configs []*config) {
	first := map[string]int{}
	for i, m := range models {
		if m.Dependency == "" || m.Breaker == nil {
			continue
		}
		j, ok := first[m.Dependency]
		switch {
		case !ok:
			first[m.Dependency] = i
		case *models[j].Breaker != *m.Breaker:
			l.problems.Add(diag.Problem{
				Code: diag.BreakersDiffer, Pos: configs[i].at("breaker"), Fix: "say it once, or the same",
				Message: fmt.Sprintf("dependency %q has two different breakers", m.Dependency),
				Related: []diag.Related{{Pos: configs[j].at("breaker"), Note: fmt.Sprintf("of %q", models[j].ID)}},
			})
		}
	}
}
