package demo

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// Options are the flags of a run.
type Options struct {
	Config idem.Config
	Build  Build
	// Events is the number of good orders, at least [MinEvents]; Seed is what
	// everything is drawn from.
	Events int
	Seed   uint64
	// Spawn starts an instance as a process of its own, and one of them is
	// killed half-way; nil runs the instances in this process.
	Spawn Spawn
	// Progress gets a few lines while the demo works.
	Progress io.Writer
	// Logger gets the framework's log.
	Logger *slog.Logger
	// Timeout ends a run that does not come to its end. 0 means 25 s, and
	// 50 ms more for each order beyond 300.
	Timeout time.Duration
}

// setUpWithin bounds the set-up, so that a server that does not answer is told
// as such.
const setUpWithin = 15 * time.Second

// Main runs the demo. The error is of the set-up; what a run found, time-outs
// and interruptions included, is in the result.
func Main(ctx context.Context, o Options) (*Result, error) {
	if o.Timeout == 0 {
		o.Timeout = 25*time.Second + time.Duration(max(0, o.Events-300))*50*time.Millisecond
	}
	p := &progress{w: o.Progress, begin: time.Now()}
	c, err := newControl(ctx, newGateway(min(20, o.Events/3), p.say))
	if err != nil {
		return nil, err
	}
	defer c.close()
	cfg := o.Config.WithDefaults()
	run := newRun(c.url)
	d := &director{
		o: o, say: p.say, control: c, run: run, plan: newPlan(o.Events, o.Seed),
		result: &Result{Run: run.ID, Transport: cfg.Transport, Store: cfg.Store, Seed: o.Seed},
	}
	defer d.tearDown()
	if err := d.setUp(ctx, min(setUpWithin, o.Timeout)); err != nil {
		return nil, err
	}
	d.play(ctx)
	d.conclude()
	d.result.ElapsedMS = time.Since(p.begin).Milliseconds()
	return d.result, nil
}
