package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
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

// Build assembles an application; the schema is where PostgreSQL keeps the
// business tables. The clean-up is called after the application has ended.
type Build func(ctx context.Context, cfg idem.Config, o wiring.Options, schema string) (*Assembled, func(), error)

// Run is what tells one run of the demo from another on a shared server.
type Run struct {
	ID      string
	Control string // address of the gateway and the control server
}

// Topics are the run's own.
func (r Run) Topics() pedidosmsg.Topics {
	return pedidosmsg.Topics{Pedidos: "pedidos-" + r.ID, Faturas: "faturas-" + r.ID}
}

// Schema is the run's own PostgreSQL schema.
func (r Run) Schema() string { return "pedidos_" + r.ID }

// name makes a consumer's name the run's own, since Kafka shares groups.
func (r Run) name(consumer string) string { return consumer + "-" + r.ID }

// configure isolates the run.
func (r Run) configure(cfg idem.Config) idem.Config {
	cfg.Postgres.Schema = r.Schema()
	cfg.Kafka.CreateTopics = true
	if cfg.Kafka.Partitions == 0 {
		cfg.Kafka.Partitions = 4
	}
	if cfg.Kafka.ReplicationFactor == 0 {
		cfg.Kafka.ReplicationFactor = 1
	}
	breakers := map[string]idem.BreakerConfig{pedidosmsg.Gateway: {Failures: 3, OpenFor: 300 * time.Millisecond}}
	for name, b := range cfg.Breakers {
		breakers[name] = b
	}
	cfg.Breakers = breakers
	consumers := map[string]idem.OperationConfig{}
	for name, c := range cfg.Consumers {
		consumers[r.name(name)] = c
	}
	cfg.Consumers = consumers
	return cfg
}

// order is what the control server tells the workers.
type order struct {
	// Fixed: the bug in the stock handler has been mended.
	Fixed bool `json:"fixed"`
	// Resume: consumers that paused may go on.
	Resume bool `json:"resume"`
}

// report is what a worker tells the control server.
type report struct {
	Worker     string `json:"worker"`
	Deliveries int64  `json:"deliveries"`
	Duplicates int64  `json:"duplicates"`
	Retries    int64  `json:"retries"`
	Resumed    int64  `json:"resumed"`
	Paused     bool   `json:"paused"`
}

// Work runs one consumer instance until ctx ends, then drains it.
func Work(ctx context.Context, worker string, run Run, cfg idem.Config, build Build, log *slog.Logger) error {
	w := &work{name: worker, run: run, http: &http.Client{Timeout: 2 * time.Second}}
	defer w.http.CloseIdleConnections()
	a, closeAll, err := build(ctx, run.configure(cfg), wiring.Options{Logger: log, Observer: w.observe}, run.Schema())
	if err != nil {
		return err
	}
	defer closeAll()
	if err := w.register(a); err != nil {
		return err
	}
	w.app = a.App
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

type work struct {
	name  string
	run   Run
	app   *idem.App
	http  *http.Client
	fixed atomic.Bool

	deliveries, duplicates, retries, resumed atomic.Int64
}

func (w *work) register(a *Assembled) error {
	t := w.run.Topics()
	named := func(op idem.Operation) idem.Operation { op.Name = w.run.name(op.Name); return op }
	if err := idem.Register(a.App, named(pedidosmsg.Faturar(t)), handlers.Faturar{Loja: a.Loja, Topics: t}); err != nil {
		return err
	}
	broken := func(sku string) bool { return sku == brokenSKU && !w.fixed.Load() }
	if err := idem.Register(a.App, named(pedidosmsg.Reservar(t)), handlers.Reservar{Loja: a.Loja, Quebrado: broken}); err != nil {
		return err
	}
	cobrar := handlers.Cobrar{Loja: a.Loja, Gateway: client{w.run.Control, w.http}}
	return idem.RegisterExternal[pedidosmsg.FaturaEmitida, handlers.Recibo](a.App, named(pedidosmsg.Cobrar(t)), cobrar)
}

func (w *work) observe(o middleware.Observation) {
	w.deliveries.Add(1)
	switch o.Outcome {
	case idem.Duplicate:
		w.duplicates.Add(1)
	case idem.Unavailable:
		w.retries.Add(1)
	case idem.Done, idem.Retry:
		w.retries.Add(int64(o.Runs))
	}
}

const pollEvery = 50 * time.Millisecond

func (w *work) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = w.obey(ctx) // the next tick tries again
			_ = w.tell(ctx)
		}
	}
}

// consumers are those that this instance runs.
func (w *work) consumers() []*idem.Consumer {
	var out []*idem.Consumer
	for _, name := range []string{"faturar", "reservar", "cobrar"} {
		out = append(out, w.app.Consumer(w.run.name(name)))
	}
	return out
}

func (w *work) obey(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.run.Control+"/orders", nil)
	if err != nil {
		return err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var o order
	if err := json.NewDecoder(resp.Body).Decode(&o); err != nil {
		return err
	}
	w.fixed.Store(o.Fixed)
	for _, c := range w.consumers() {
		if o.Resume && c.Gate.Paused() != "" {
			w.resumed.Add(1)
			c.Gate.Resume()
		}
	}
	return nil
}

func (w *work) tell(ctx context.Context) error {
	r := report{
		Worker: w.name, Deliveries: w.deliveries.Load(), Duplicates: w.duplicates.Load(),
		Retries: w.retries.Load(), Resumed: w.resumed.Load(),
	}
	for _, c := range w.consumers() {
		r.Paused = r.Paused || c.Gate.Paused() != ""
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.run.Control+"/reports", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
