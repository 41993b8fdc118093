package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// Options are the flags of a run.
type Options struct {
	Config idem.Config
	Build  Build
	// Events is the number of good orders, Seed what everything is drawn from.
	Events int
	Seed   uint64
	// Spawn starts a consumer instance as a child process of its own; nil
	// runs the instances in this process. One child is killed half-way.
	Spawn Spawn
	// Progress gets a few lines while the demo works.
	Progress io.Writer
	// Logger gets the framework's log.
	Logger *slog.Logger
	// Timeout ends a run that does not come to its end. 0 means 25 s.
	Timeout time.Duration
}

// Spawn starts an instance in a process of its own.
type Spawn func(worker string, run Run) (Process, error)

// Process is a running instance.
type Process interface {
	// Stop asks it to drain and waits for its end.
	Stop() error
	// Kill ends it at once, as a power cut would.
	Kill() error
}

// instances is how many consumer instances race.
const instances = 2

// Main runs the demo. The error is of the set-up; what a run found, time-outs
// included, is in the result.
func Main(ctx context.Context, o Options) (*Result, error) {
	begin := time.Now()
	if o.Timeout == 0 {
		o.Timeout = 25 * time.Second
	}
	cfg := o.Config.WithDefaults()
	r := &Result{Transport: cfg.Transport, Store: cfg.Store, Seed: o.Seed}
	c, err := newControl()
	if err != nil {
		return nil, err
	}
	defer c.close()
	d := &director{o: o, c: c, r: r, plan: newPlan(o.Events, o.Seed), run: Run{ID: runID(), Control: c.url}}
	if err := d.setUp(ctx); err != nil {
		return nil, err
	}
	defer d.tearDown()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := d.play(ctx); err != nil {
		r.Error = err.Error()
	}
	d.conclude()
	r.ElapsedMS = time.Since(begin).Milliseconds()
	return r, nil
}

func runID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// director plays the run: publishes, waits, mends, resumes, kills.
type director struct {
	o    Options
	c    *control
	r    *Result
	run  Run
	plan plan

	own     *Assembled // the producer's side; runs no consumer
	closers []func()
	workers map[string]Process
}

func (d *director) say(format string, args ...any) {
	fmt.Fprintf(d.o.Progress, format+"\n", args...)
}

func (d *director) setUp(ctx context.Context) error {
	own, closeAll, err := d.o.Build(ctx, d.run.configure(d.o.Config), wiring.Options{Logger: d.o.Logger}, d.run.Schema())
	if err != nil {
		return err
	}
	d.own, d.closers = own, append(d.closers, closeAll)
	ids := make([]string, 0, len(d.plan.orders))
	for id := range d.plan.orders {
		ids = append(ids, id)
	}
	t := d.run.Topics()
	return errors.Join(own.Loja.Criar(ctx), own.Loja.Cadastrar(ctx, ids...), own.Store.Migrate(ctx),
		own.Transport.EnsureTopics(ctx, t.Pedidos, t.Faturas))
}

func (d *director) tearDown() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := d.own.Loja.Remover(ctx); err != nil {
		d.say("could not clean up: %v", err)
	}
	for _, f := range d.closers {
		f()
	}
}

func (d *director) play(ctx context.Context) (err error) {
	d.say("%d orders, %d messages, two instances of three consumers on %s, store %s", len(d.plan.orders), len(d.plan.messages), d.r.Transport, d.r.Store)
	d.workers = map[string]Process{}
	defer func() { err = errors.Join(err, d.stopAll()) }()
	for i := range instances {
		if err := d.startWorker(ctx, fmt.Sprint("instance-", i+1)); err != nil {
			return err
		}
	}
	published := make(chan error, 1)
	go func() { published <- d.publish(ctx) }()
	if d.o.Spawn != nil {
		if err := d.killOne(ctx); err != nil {
			return err
		}
	}
	if err := <-published; err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	d.say("all published; gateway goes down and comes back, stock handler hits its bug")
	if err := d.await(ctx, "the stock consumer to pause", func() bool { t, _ := d.c.totals(); return t.Paused }); err != nil {
		return err
	}
	d.say("stock consumer has paused on the bug; the fix is applied, the consumer resumed")
	d.c.say(order{Fixed: true, Resume: true})
	return d.await(ctx, "all effects", func() bool { return d.complete(ctx) })
}

// startWorker starts an instance, in this process or as a child.
func (d *director) startWorker(ctx context.Context, name string) error {
	if d.o.Spawn != nil {
		p, err := d.o.Spawn(name, d.run)
		if err != nil {
			return err
		}
		d.workers[name] = p
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- Work(ctx, name, d.run, d.o.Config, d.o.Build, d.o.Logger) }()
	d.workers[name] = inProcess{cancel, done}
	return nil
}

type inProcess struct {
	cancel context.CancelFunc
	done   chan error
}

func (p inProcess) Stop() error { p.cancel(); return <-p.done }
func (p inProcess) Kill() error { return errors.New("an instance in this process cannot be killed") }

func (d *director) stopAll() error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for name, w := range d.workers {
		wg.Go(func() {
			if err := w.Stop(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// killOne waits until about half of the work is done, kills an instance and
// starts it again.
func (d *director) killOne(ctx context.Context) error {
	half := func() bool {
		rows, err := d.own.Loja.Efeitos(ctx)
		return err == nil && len(rows) >= len(d.plan.orders) // a third of all rows
	}
	if err := d.await(ctx, "half of the work", half); err != nil {
		return err
	}
	const victim = "instance-2"
	if err := d.workers[victim].Kill(); err != nil {
		return err
	}
	d.c.forget(victim)
	d.r.Killed++
	d.say("%s was killed half-way (SIGKILL) and is started again", victim)
	return d.startWorker(ctx, victim+"-again")
}

func (d *director) publish(ctx context.Context) error {
	const batch = 50
	topic := d.run.Topics().Pedidos
	for begin := 0; begin < len(d.plan.messages); begin += batch {
		var msgs []*message.Message
		for _, m := range d.plan.messages[begin:min(begin+batch, len(d.plan.messages))] {
			msg := message.NewMessage(m.id, m.body)
			msg.SetContext(idem.WithEnvelope(ctx, idem.Envelope{Key: []byte(m.key)}))
			msgs = append(msgs, msg)
		}
		if err := d.own.Transport.Publisher().Publish(topic, msgs...); err != nil {
			return err
		}
		d.r.Published += len(msgs)
	}
	return nil
}

// complete reports whether everything expected is there and nothing moves any
// more: what comes late could still double an effect.
func (d *director) complete(ctx context.Context) bool {
	rows, err := d.own.Loja.Efeitos(ctx)
	if err != nil {
		return false
	}
	charges, _, _ := d.c.gateway.seen()
	if audit(d.plan.orders, rows, charges).lost > 0 {
		return false
	}
	dead, discarded, err := d.countDead(ctx)
	if err != nil || len(dead) < 3 || discarded < consumersOfPedidos*unknown {
		return false
	}
	n, _, err := d.own.Store.OutboxDepth(ctx)
	_, quiet := d.c.totals()
	return err == nil && n == 0 && quiet > 10*pollEvery
}

func (d *director) await(ctx context.Context, what string, cond func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// countDead returns the parked dead letters by reason and the discards.
func (d *director) countDead(ctx context.Context) (dead map[string]int, discarded int, err error) {
	dead = map[string]int{}
	for letter, err := range d.own.DeadLetters.All(ctx, idem.DeadLetterQuery{}) {
		if err != nil {
			return nil, 0, err
		}
		if letter.State == idem.DeadLetterDiscarded {
			discarded++
		} else {
			dead[letter.Reason]++
		}
	}
	return dead, discarded, nil
}

// conclude compares what was expected with what is there.
func (d *director) conclude() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rows, err := d.own.Loja.Efeitos(ctx)
	dead, discarded, err2 := d.countDead(ctx)
	if err = errors.Join(err, err2); err != nil && d.r.Error == "" {
		d.r.Error = err.Error()
	}
	charges, unavailable, tooMany := d.c.gateway.seen()
	v := audit(d.plan.orders, rows, charges)
	t, _ := d.c.totals()
	r := d.r
	r.Effects, r.Lost, r.Doubled = v.effects, v.lost, v.doubled
	r.Deliveries, r.DuplicatesIgnored, r.Retries, r.PausedResumed = t.Deliveries, t.Duplicates, t.Retries, t.Resumed
	r.Discarded = discarded
	for _, n := range dead {
		r.DeadLetters += n
	}
	orders := len(d.plan.orders)
	invoices, stock, payments := rowsOf(rows, loja.Faturas), rowsOf(rows, loja.Reservas), rowsOf(rows, loja.Pagamentos)
	both := func(n int) int { return consumersOfPedidos * n }
	r.expect("every event one to three times", invoices == orders && t.Duplicates > 0,
		fmt.Sprintf("%d invoices", orders), fmt.Sprintf("%d invoices, %d duplicates ignored", invoices, t.Duplicates))
	reason := func(name, reason string, n int) {
		r.expect(name, dead[reason] == both(n), fmt.Sprintf("%d dead letters %q", both(n), reason), fmt.Sprintf("%d", dead[reason]))
	}
	reason("malformed JSON", idem.ReasonUndecodable, malformed)
	reason("a required field is missing", idem.ReasonInvalid, missing)
	r.expect("an order that does not exist", discarded == both(unknown), fmt.Sprintf("%d discarded with audit", both(unknown)), fmt.Sprintf("%d", discarded))
	reason("a key reused with another amount", idem.ReasonKeyReuse, reused)
	total := 0
	for _, n := range charges {
		total += n
	}
	r.expect("gateway: 503 for a while, then 429", total == orders && payments == orders && unavailable > 0 && tooMany > 0,
		fmt.Sprintf("%d charges, none dead", orders), fmt.Sprintf("%d charges, after %d × 503 and %d × 429", total, unavailable, tooMany))
	r.expect("a bug pauses the stock consumer", stock == orders && t.Resumed > 0,
		fmt.Sprintf("%d reservations after the fix", orders), fmt.Sprintf("%d reservations, %d pauses resumed", stock, t.Resumed))
	if d.o.Spawn != nil {
		r.expect("an instance is killed half-way", r.Killed == 1, "1 killed, nothing lost or doubled", fmt.Sprintf("%d killed, %d lost, %d doubled", r.Killed, r.Lost, r.Doubled))
	}
	r.judge()
}

func rowsOf(rows []loja.Efeito, table string) (n int) {
	for _, r := range rows {
		if r.Tabela == table {
			n++
		}
	}
	return n
}
