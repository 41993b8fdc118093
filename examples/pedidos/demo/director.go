package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
)

// director plays a run: publishes, kills, mends, resumes, and waits for what
// must come of it.
type director struct {
	o       Options
	say     func(format string, args ...any)
	control *control
	run     Run
	cfg     idem.Config // the run's own
	plan    plan
	result  *Result

	own       *Assembled // the producer's side; runs no consumer
	closeOwn  func()
	crew      crew
	published atomic.Int64
	killedAt  time.Time
}

// setUp goes on for a moment when it is interrupted: what is half made could
// not be removed.
func (d *director) setUp(outer context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(outer), within,
		fmt.Errorf("no answer within %v: is the server up, and its address right?", within))
	defer cancel()
	defer context.AfterFunc(outer, func() { time.AfterFunc(time.Second, cancel) })()
	err := d.assemble(ctx)
	if err == nil {
		return outer.Err()
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}

func (d *director) assemble(ctx context.Context) (err error) {
	d.cfg = d.run.configure(d.o.Config)
	d.own, d.closeOwn, err = d.o.Build(ctx, d.cfg, wiring.Options{Logger: d.o.Logger}, handlers.Input{Schema: d.run.schema(d.cfg)})
	if err != nil {
		return err
	}
	var topics []string
	for _, op := range operations() {
		topics = append(topics, d.cfg.Topic(op.Topic))
	}
	for _, step := range []func() error{
		func() error { return d.own.Transport.EnsureTopics(ctx, topics...) },
		func() error { return d.own.Loja.Criar(ctx) },
		func() error { return d.own.Store.Migrate(ctx) },
		func() error {
			return d.own.Loja.Cadastrar(ctx, slices.Collect(maps.Keys(d.plan.orders))...)
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tearDown removes what the run had for itself, as far as it came to be.
func (d *director) tearDown() {
	if d.own == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := d.own.Loja.Remover(ctx); err != nil {
		d.say("could not clean up: %v", err)
	}
	d.closeOwn()
}

// play runs the script; how far it came is in the result.
func (d *director) play(outer context.Context) {
	ctx, fail := context.WithCancelCause(outer)
	defer fail(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, d.o.Timeout, fmt.Errorf("not done after %v", d.o.Timeout))
	defer cancel()
	d.crew = crew{start: d.spawn, fail: fail, members: map[string]*member{}}
	err := d.script(ctx, fail)
	if err != nil && outer.Err() != nil {
		d.say("interrupted; what is being handled is finished")
		d.result.interrupted, d.result.Error = true, "interrupted before the end"
		_ = d.crew.stop(interruptWithin)
		return
	}
	if stop := d.crew.stop(drainWithin); err == nil {
		err = stop
	}
	d.result.Error = idem.Summary(err)
}

func (d *director) script(ctx context.Context, fail func(error)) error {
	d.say("%s in %s on %s (store %s), two instances of the service",
		count(len(d.plan.orders), "order"), count(len(d.plan.messages), "message"), d.result.Transport, d.result.Store)
	for _, name := range []string{"instance-1", "instance-2"} {
		if err := d.crew.add(name); err != nil {
			return err
		}
	}
	go func() {
		if err := d.publish(ctx); err != nil {
			fail(fmt.Errorf("publish: %w", err))
		}
	}()
	if d.o.Spawn != nil {
		if err := d.killOne(ctx); err != nil {
			return err
		}
	}
	if err := d.await(ctx, "the stock consumer to pause", func() bool { t, _ := d.control.totals(); return t.Paused }); err != nil {
		return err
	}
	d.say("the stock consumer has paused on a bug; the bug is fixed and the consumer resumed")
	d.control.command(order{Fixed: true, Resume: true})
	if err := d.await(ctx, "every effect", func() bool { return d.complete(ctx) }); err != nil {
		return err
	}
	d.say("everything is done, and nothing moves any more")
	return nil
}

func (d *director) spawn(name string) (Process, error) {
	if d.o.Spawn != nil {
		return d.o.Spawn(name, d.run)
	}
	return spawnInProcess(func(ctx context.Context) error {
		return Work(ctx, name, d.run, d.o.Config, d.o.Build, d.o.Logger)
	}), nil
}

func (d *director) publish(ctx context.Context) error {
	for batch := range slices.Chunk(d.plan.messages, 50) {
		msgs := make([]*message.Message, len(batch))
		for i, m := range batch {
			msgs[i] = message.NewMessage(m.id, m.body)
			msgs[i].SetContext(idem.WithEnvelope(ctx, idem.Envelope{Key: []byte(m.key)}))
		}
		if err := d.own.Transport.Publisher().Publish(d.cfg.Topic(pedidosmsg.FaturarOperation().Topic), msgs...); err != nil {
			return err
		}
		d.published.Add(int64(len(msgs)))
	}
	if ctx.Err() == nil {
		d.say("everything is published, each order one to three times")
	}
	return nil
}

// killOne kills an instance in the middle of its work and starts another.
func (d *director) killOne(ctx context.Context) error {
	var invoices int
	if err := d.await(ctx, "half of the invoices", func() bool {
		rows, err := d.own.Loja.Efeitos(ctx)
		invoices = countOf(rows, loja.Faturas)
		return err == nil && invoices >= len(d.plan.orders)/2
	}); err != nil {
		return err
	}
	const victim = "instance-2"
	if err := d.crew.kill(victim); err != nil {
		return err
	}
	d.killedAt = time.Now()
	d.control.bury(victim)
	d.result.Killed++
	d.say("%s was killed (SIGKILL) with %d of %s written; instance-3 takes its place", victim, invoices, count(len(d.plan.orders), "invoice"))
	return d.crew.add("instance-3")
}

func (d *director) await(ctx context.Context, what string, cond func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w, while waiting for %s", context.Cause(ctx), what)
		}
	}
	return nil
}
