package crash

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/conformance/report"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// Options say what is put to the test, and how.
type Options struct {
	// Name of the pair, for the report. "" is the transport and the store.
	Name string
	// Config is where: transport, store and their addresses. Leases and
	// sessions are shortened, so that the death of a process is noticed soon.
	Config idem.Config
	// Transaction is the mode of the consumers; "" is own.
	Transaction idem.TransactionMode
	// Kills is about how many there are in all; 0 means 200.
	Kills int
	// Steps at which children are killed; nil means all.
	Steps []idem.Step
	// Disturbances are what else can be done, by name: "broker restart". Each
	// is done while a child works, and returns when the server serves again.
	Disturbances map[string]func(ctx context.Context) error
	// Self starts this program as a child; nil is the program itself, without
	// arguments.
	Self []string
	// Dir gets the file of the ledger; "" is a temporary folder.
	Dir string
	// Servers are named in the report.
	Servers []report.Server
	// Progress is told what is being done; nil is nobody.
	Progress func(line string)

	through string // the DSN that children use instead
	broken  bool   // effects are written outside the transaction, to see that it is found
}

// batch is how many messages are published before each harm, each of them twice.
const batch = 10

// patience is how long the last messages of a plan may take.
const patience = 90 * time.Second

// Run does all plans and returns what they left behind. The error says why it
// could not; that messages were lost or doubled is in the result.
func Run(ctx context.Context, o Options) (report.Crash, error) {
	o.prepare()
	out := report.Crash{Harness: o.Name, Run: report.Run{Started: time.Now().UTC(), Environment: report.Here(o.Servers...)}}
	begun := time.Now()
	r := &runner{Options: o, ctx: ctx}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "idem-crash-")
		if err != nil {
			return out, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		r.Dir = dir
	}
	for _, p := range o.plans() {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		began := time.Now()
		res, err := r.plan(p)
		if err != nil {
			return out, fmt.Errorf("crash: %s: %s %s: %w", o.Name, p.name, p.step, err)
		}
		res.Seconds = time.Since(began).Seconds()
		out.Results = append(out.Results, res)
		r.say("%s: %s %s: %d kills, %d effects expected, %d lost, %d doubled %s", o.Name, p.name, p.step, res.Kills,
			res.Effects.Expected, res.Effects.Lost, res.Effects.Doubled, res.Reason)
	}
	out.Run.Seconds = time.Since(begun).Seconds()
	return out, nil
}

func (o *Options) prepare() {
	if o.Name == "" {
		o.Name = o.Config.Transport
		if o.Config.Store != o.Config.Transport {
			o.Name += "+" + o.Config.Store
		}
	}
	if o.Transaction == idem.TransactionGroup {
		o.Name += ", group"
	}
	if o.Kills == 0 {
		o.Kills = 200
	}
	if o.Steps == nil {
		o.Steps = idem.Steps()
	}
	if o.Self == nil {
		o.Self = []string{os.Args[0]}
	}
	o.Config.Queue.Lease = time.Second
	o.Config.Outbox.Lease = time.Second
	o.Config.Kafka.SessionTimeout = 2 * time.Second
	o.Config.Kafka.CreateTopics = true
	if o.Config.Kafka.Partitions == 0 {
		o.Config.Kafka.Partitions = 4
	}
	if o.Config.Kafka.ReplicationFactor == 0 {
		o.Config.Kafka.ReplicationFactor = 1
	}
	o.Config.DrainTimeout = 10 * time.Second
}

// plan is one way to do harm, some times over.
type plan struct {
	name  string
	step  idem.Step
	times int
	// harm does it once to what works on the run, after messages were published.
	harm func(r *runner, run names, nth int) error
}

// plans spreads the kills: half over the steps, the rest at random and on two
// children at once.
func (o Options) plans() []plan {
	var out []plan
	each := max(o.Kills/2/len(o.Steps), 1)
	for _, s := range o.Steps {
		out = append(out, plan{"kill at step", s, each, killAt(s)})
	}
	if o.broken {
		return out
	}
	rest := max(o.Kills-each*len(o.Steps), 3)
	out = append(out, plan{name: "kill at random", times: rest - rest/3, harm: killAtRandom})
	out = append(out, plan{name: "two children, one killed", times: max(rest/3, 1), harm: killOneOfTwo})
	if o.Config.Store == "postgres" {
		for _, applied := range []bool{true, false} {
			name := map[bool]string{true: "connection cut after COMMIT was sent", false: "connection cut before COMMIT arrives"}[applied]
			out = append(out, plan{name: name, times: max(each, 2), harm: cutCommit(applied)})
		}
	}
	var names []string
	for name := range o.Disturbances {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, plan{name: name, times: max(o.Kills/40, 1), harm: disturb(o.Disturbances[name])})
	}
	return out
}

type runner struct {
	Options
	ctx  context.Context
	pair *pair // what the parent publishes and counts with
}

func (r *runner) say(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// plan does one plan on topics of its own.
func (r *runner) plan(p plan) (report.CrashResult, error) {
	res := report.CrashResult{Plan: p.name, Step: string(p.step)}
	run := names{"crash-" + strings.ToLower(rand.Text()[:10])}
	file, err := os.OpenFile(filepath.Join(r.Dir, run.run+".ledger.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return res, err
	}
	defer func() { _ = file.Close() }()
	book := json.NewEncoder(file)
	quiet := wiring.Options{Logger: slog.New(slog.DiscardHandler)}
	if r.pair, err = assemble(r.ctx, r.Config, quiet); err != nil {
		return res, err
	}
	defer func() { r.pair.close() }()
	if err := r.topics(run); err != nil {
		return res, err
	}
	published := 0
	for n := range p.times {
		ids := make([]string, batch)
		for i := range ids {
			ids[i] = strconv.Itoa(published + i)
		}
		published += batch
		if err := book.Encode(map[string]any{"published": ids, "at": time.Now().UTC()}); err != nil {
			return res, err
		}
		if err := r.publish(run, ids); err != nil {
			return res, err
		}
		err := p.harm(r, run, n)
		switch {
		case errors.Is(err, errNotPassed):
			res.Reason = "no message passes this step on this pair"
		case err != nil:
			return res, err
		default:
			res.Kills++
		}
		if err := book.Encode(map[string]any{"harm": p.name, "step": p.step, "done": err == nil, "at": time.Now().UTC()}); err != nil {
			return res, err
		}
		if res.Reason != "" {
			break
		}
	}
	if err := r.finish(run, published, &res); err != nil {
		return res, err
	}
	if res.Reason != "" && res.Effects.Exact() {
		res.Notes = append(res.Notes, res.Reason)
		res.Reason = ""
	}
	return res, book.Encode(map[string]any{"result": res})
}

func (r *runner) topics(run names) error {
	if err := r.pair.Store.Migrate(r.ctx); err != nil {
		return err
	}
	var topics []string
	for name, topic := range map[string]string{"work": run.work(), "read": run.out(), "call": run.calls()} {
		op := run.operation(name, topic, r.Transaction)
		topics = append(topics, topic, op.RetryTopic(), topic+".dlq")
	}
	return r.pair.Transport.EnsureTopics(r.ctx, topics...)
}

// publish sends each message twice, as producers do. It tries until the broker
// takes them: what is counted is what was confirmed.
func (r *runner) publish(run names, ids []string) error {
	for _, topic := range []string{run.work(), run.calls()} {
		send := ids
		if topic == run.calls() {
			send = ids[:2]
		}
		for range 2 {
			var msgs []*message.Message
			for _, id := range send {
				msg := message.NewMessage("", fmt.Appendf(nil, `{"id":%q}`, id))
				msg.SetContext(idem.WithEnvelope(r.ctx, idem.Envelope{Key: []byte(id)}))
				msgs = append(msgs, msg)
			}
			if err := r.retry(func() error { return r.pair.Transport.Publisher().Publish(topic, msgs...) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// retry does what a server may be too troubled to do at once.
func (r *runner) retry(f func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
}

// finish lets a child do what is left and counts. A last message, behind all
// others, shows that whatever would still double has had its chance.
func (r *runner) finish(run names, published int, res *report.CrashResult) error {
	c, err := r.start(task{Run: run.run})
	if err != nil {
		return err
	}
	defer func() { c.kill() }()
	counted := func() (t totals, done bool, err error) {
		err = r.retry(func() error { t, err = r.count(run, published); return err })
		return t, t.effects.Lost == 0 && t.events.Lost == 0 && t.calls.Lost == 0 && t.dead.Lost == 0, err
	}
	deadline := time.Now().Add(patience)
	for {
		_, done, err := counted()
		if err != nil {
			return err
		}
		if done || time.Now().After(deadline) {
			break
		}
		select {
		case <-c.ended:
			return fmt.Errorf("the last child ended by itself: %w", errors.Join(c.err, errors.New("see its output")))
		case <-time.After(100 * time.Millisecond):
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	if err := r.quiet(run, published); err != nil {
		return err
	}
	if err := c.stop(); err != nil {
		res.Notes = append(res.Notes, "the last child ended with "+err.Error())
	}
	t, _, err := counted()
	if err != nil {
		return err
	}
	res.Effects, res.Emitted, res.Calls = t.effects, &t.events, &t.calls
	if t.dead.Lost+t.dead.Doubled > 0 {
		res.Reason = fmt.Sprintf("of %d messages that have to be dead letters %d are none, %d are twice", t.dead.Expected, t.dead.Lost, t.dead.Doubled)
	}
	return nil
}

// quiet sends copies of every message once more and waits until they were
// recognised or had their effect again.
func (r *runner) quiet(run names, published int) error {
	last := strconv.Itoa(published * 10) // ends with 0: it takes effect at once
	if err := r.publish(run, []string{last, last + "0"}); err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		seen, err := r.pair.count(r.ctx, run.run)
		if err == nil && seen[kindEvent][last] > 0 && seen[kindPaid][last] > 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	return nil // then it is among what is lost
}

type totals struct{ effects, events, calls, dead report.Counts }

func (r *runner) count(run names, published int) (t totals, err error) {
	seen, err := r.pair.count(r.ctx, run.run)
	if err != nil {
		return t, err
	}
	letters := map[string]int{}
	for d, err := range r.pair.DeadLetters.All(r.ctx, idem.DeadLetterQuery{Consumer: "work-" + run.run}) {
		if err != nil {
			return t, err
		}
		letters[d.Key]++
	}
	for n := range published {
		id := strconv.Itoa(n)
		if _, dead := fate(id); dead {
			judge(&t.dead, letters[id])
			if seen[kindEffect][id] > 0 || seen[kindEvent][id] > 0 { // rolled back, or it is one too many
				t.effects.Doubled++
			}
			continue
		}
		judge(&t.effects, seen[kindEffect][id])
		judge(&t.events, seen[kindEvent][id])
		if n%batch < 2 {
			judge(&t.calls, min(seen[kindCall][id], seen[kindPaid][id]))
			if max(seen[kindCall][id], seen[kindPaid][id]) > 1 {
				t.calls.Doubled++
			}
		}
	}
	return t, nil
}

func judge(c *report.Counts, n int) {
	c.Expected++
	switch {
	case n == 0:
		c.Lost++
	case n > 1:
		c.Doubled++
	}
}

var errNotPassed = errors.New("crash: the step was not passed")

// chance is a number from 1 to n.
func chance(n int) int { return 1 + mathrand.IntN(n) }
