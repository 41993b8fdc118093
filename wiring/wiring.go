// Package wiring assembles an application from its configuration. This package
// has what all of them share; the packages below it add one transport and one
// store each, so that a program links only the clients it uses:
//
//	wiring/memory       memory queue, memory store
//	wiring/sqlite       queue and store in one SQLite file
//	wiring/postgres     queue and store in one PostgreSQL database
//	wiring/kafka        Kafka, store in PostgreSQL
//	wiring/kafkasqlite  Kafka, store in a SQLite file
//
// The injectors are made by Wire (go tool wire gen ./wiring/...); the providers
// are plain constructors that can be called by hand.
package wiring

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/google/wire"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/outbox"
	"github.com/idem-go/idem/middleware"
)

// Parts are what every wiring gives: register consumers on App, then call its
// Run.
type Parts struct {
	App         *idem.App
	Transport   idem.Transport
	Store       idem.Store
	DeadLetters *deadletter.Service
	Breakers    *middleware.Breakers
}

// Options are what a configuration file cannot say.
type Options struct {
	// Logger; nil means one to standard error, as the configuration says.
	Logger *slog.Logger
	// Observer is told of every settled delivery; nil is none.
	Observer func(middleware.Observation)
	// Step is told of every step of every message, at the consumers, at the
	// broker and at the relay; nil is none.
	Step idem.StepFunc
}

// Set provides Parts for an idem.Config, Options, an idem.Transport and an
// idem.Store.
var Set = wire.NewSet(NewLogger, NewBreakers, NewRelay, NewDeadLetters, NewApp, wire.Struct(new(Parts), "*"))

// NewLogger returns the logger of the options, else one that writes to standard
// error as the configuration says.
func NewLogger(cfg idem.Config, o Options) *slog.Logger {
	if o.Logger != nil {
		return o.Logger
	}
	return newLogger(cfg, os.Stderr)
}

func newLogger(cfg idem.Config, w io.Writer) *slog.Logger {
	h := &slog.HandlerOptions{Level: cfg.Log.Level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, h))
	}
	return slog.New(slog.NewTextHandler(w, h))
}

// NewBreakers makes the breakers that the configuration declares.
func NewBreakers(cfg idem.Config) *middleware.Breakers {
	settings := make(map[string]middleware.BreakerSettings, len(cfg.Breakers))
	for name, b := range cfg.Breakers {
		settings[name] = middleware.BreakerSettings{Failures: uint32(b.Failures), OpenFor: b.OpenFor, Probes: uint32(b.Probes)}
	}
	return middleware.NewBreakers(settings)
}

// NewRelay makes the relay that publishes the store's outbox.
func NewRelay(cfg idem.Config, o Options, store idem.Store, transport idem.Transport, log *slog.Logger) (*outbox.Relay, error) {
	return outbox.New(outbox.Config{
		Store: store, Publisher: transport.Publisher(), Logger: log,
		Batch: cfg.Outbox.Batch, Poll: cfg.Outbox.PollInterval, Lease: cfg.Outbox.Lease, Step: o.Step,
	})
}

// NewDeadLetters makes the dead-letter operations.
func NewDeadLetters(store idem.Store) *deadletter.Service { return deadletter.New(store, 0) }

// NewApp makes the application.
func NewApp(cfg idem.Config, o Options, transport idem.Transport, store idem.Store, relay *outbox.Relay, breakers *middleware.Breakers, log *slog.Logger) (*idem.App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return idem.NewApp(idem.AppConfig{
		Config: cfg, Transport: transport, Store: store, Logger: log, Step: o.Step,
		Chain:    middleware.Chain(middleware.Options{Breakers: breakers, Observer: o.Observer}),
		Services: []idem.Service{relay},
	})
}

// WantTransport returns an error unless the configuration asks for this
// transport: a program that links one wiring must not quietly run another.
func WantTransport(cfg idem.Config, name string) error {
	return want("transport", cfg.WithDefaults().Transport, name)
}

// WantStore is WantTransport for the store.
func WantStore(cfg idem.Config, name string) error {
	return want("store", cfg.WithDefaults().Store, name)
}

func want(what, asked, built string) error {
	if asked == built {
		return nil
	}
	return fmt.Errorf("wiring: %s: this program links %q only, the configuration asks for %q (of itself, or by another key that implies it): set %s: %s, or build with another package of wiring", what, built, asked, what, built)
}

// CloseFunc turns a Close method into a clean-up that logs its error.
func CloseFunc(what string, log *slog.Logger, closeIt func() error) func() {
	return func() {
		if err := closeIt(); err != nil {
			log.Warn("idem: close failed", "part", what, "error", idem.Summary(err))
		}
	}
}
