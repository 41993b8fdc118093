// Package memory wires the memory queue with the memory store.
package memory

import (
	"log/slog"

	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idem"
	store "github.com/idem-go/idem/framework/store/memory"
	transport "github.com/idem-go/idem/transports/memory"
	"github.com/idem-go/idem/wiring"
)

// Parts are the assembled application and its tables.
type Parts struct {
	wiring.Parts
	Tables *store.Store
}

// Set provides Parts for an idem.Config and wiring.Options.
var Set = wire.NewSet(wiring.Set, NewStore, NewTransport, wire.Struct(new(Parts), "*"),
	wire.Bind(new(idem.Store), new(*store.Store)), wire.Bind(new(idem.Transport), new(*transport.Transport)))

// NewStore makes the store.
func NewStore(cfg idem.Config) (*store.Store, error) {
	if err := wiring.WantTransport(cfg, "memory"); err != nil { // the store only follows from it
		return nil, err
	}
	if err := wiring.WantStore(cfg, "memory"); err != nil {
		return nil, err
	}
	return store.New(store.Config{}), nil
}

// NewTransport makes the queue.
func NewTransport(cfg idem.Config, log *slog.Logger) (*transport.Transport, func(), error) {
	t, err := transport.New(transport.Config{
		Lease: cfg.Queue.Lease, PollInterval: cfg.Queue.PollInterval, Retention: cfg.Queue.Retention, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return t, wiring.CloseFunc("transport", log, t.Close), nil
}

// Again assembles another application on the same queue and tables, as a second
// process on a shared broker and database would be.
func (p *Parts) Again(cfg idem.Config, o wiring.Options) (wiring.Parts, error) {
	log, breakers := wiring.NewLogger(cfg, o), wiring.NewBreakers(cfg)
	relay, err := wiring.NewRelay(cfg, o, p.Store, p.Transport, log)
	if err != nil {
		return wiring.Parts{}, err
	}
	again := p.Parts
	again.Breakers = breakers
	again.App, err = wiring.NewApp(cfg, o, p.Transport, p.Store, relay, breakers, log)
	return again, err
}
