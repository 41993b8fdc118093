package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
)

// Loja is what a backend gives: business writes and what the demo needs.
type Loja interface {
	loja.Loja
	loja.Admin
}

// Assembled is an application on one backend.
type Assembled struct {
	wiring.Parts
	Loja Loja
}

// Build assembles an application with its handlers. The clean-up is called after
// the application has ended.
type Build func(ctx context.Context, cfg idem.Config, o wiring.Options, in handlers.Input) (*Assembled, func(), error)

// Work runs one instance of the service until ctx ends, then drains it.
func Work(ctx context.Context, name string, run Run, cfg idem.Config, build Build, log *slog.Logger) error {
	w := &worker{name: name, run: run, http: &http.Client{Timeout: 2 * time.Second}}
	defer w.http.CloseIdleConnections()
	cfg = run.configure(cfg)
	a, closeAll, err := build(ctx, cfg, wiring.Options{Logger: log, Observer: w.observe}, handlers.Input{
		Schema:   run.schema(cfg),
		Gateway:  client{run.Control, w.http},
		Quebrado: func(sku string) bool { return sku == brokenSKU && !w.fixed.Load() },
	})
	if err != nil {
		return err
	}
	defer closeAll()
	for _, op := range operations() {
		w.consumers = append(w.consumers, a.App.Consumer(op.Name))
	}
	if err := w.obey(ctx); err != nil {
		return fmt.Errorf("control server: %w", err)
	}
	polling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { w.poll(polling) })
	err = a.App.Run(ctx)
	stop()
	wg.Wait()
	_ = w.tell(context.WithoutCancel(ctx)) // the last counts; the parent may be gone
	return err
}

// worker is one instance: three consumers, and a line to the control server.
type worker struct {
	name      string
	run       Run
	consumers []*idem.Consumer
	http      *http.Client
	fixed     atomic.Bool // the bug in the stock handler has been mended

	deliveries, duplicates, retries, resumed atomic.Int64
}

// observe counts settled deliveries.
func (w *worker) observe(o middleware.Observation) {
	w.deliveries.Add(1)
	switch o.Outcome {
	case idem.Duplicate:
		w.duplicates.Add(1)
	case idem.Unavailable:
		w.retries.Add(1)
	case idem.Done, idem.Retry:
		w.retries.Add(int64(o.Runs)) // runs that failed, and so were tried again
	}
}
