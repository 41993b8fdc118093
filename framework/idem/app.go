package idem

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Chain returns the middlewares of a consumer, outermost first;
// middleware.Chain makes one. An error ends the start.
type Chain func(*Consumer) ([]message.HandlerMiddleware, error)

// Service is background work that lives as long as the application, such as
// the outbox relay. Run returns when ctx ends; an error ends the application.
type Service interface {
	Run(ctx context.Context) error
}

// AppConfig is what an [App] is assembled from.
type AppConfig struct {
	// Config overrides what the operations say, per consumer, and gives error
	// rules and the application's times.
	Config Config
	// Transport, Store and Chain are required.
	Transport Transport
	Store     Store
	Chain     Chain
	// Services run beside the consumers.
	Services []Service
	// Classifier tells whose fault an error is; the zero value has the defaults.
	// Rules of Config come before its own.
	Classifier Classifier
	// Step is told of every step of every message; nil is none.
	Step StepFunc
	// Logger; nil means slog.Default().
	Logger *slog.Logger
}

// App runs consumers on one transport and one store, and drains them in order
// when it ends. Register consumers before Run. Safe for concurrent use.
type App struct {
	cfg    AppConfig
	engine *Engine
	log    *slog.Logger

	mu        sync.Mutex
	consumers []*Consumer
	started   bool
	running   chan struct{}

	inFlight atomic.Int64
	idle     chan struct{} // signalled when inFlight falls to zero
	draining atomic.Bool
}

// NewApp checks the configuration. Nothing is connected or started.
func NewApp(cfg AppConfig) (*App, error) {
	var e fieldErrors
	e.check(cfg.Transport != nil, "transport", "is nil")
	e.check(cfg.Store != nil, "store", "is nil")
	e.check(cfg.Chain != nil, "chain", "is nil: use middleware.Chain")
	for name, err := range map[string]error{"config": cfg.Config.Validate(), "classifier": cfg.Classifier.Validate()} {
		if err != nil {
			e = append(e, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := e.join(); err != nil {
		return nil, fmt.Errorf("idem: app: %w", err)
	}
	cfg.Config = cfg.Config.WithDefaults()
	cfg.Classifier.Rules = append(cfg.Config.Classifier().Rules, cfg.Classifier.Rules...)
	engine, err := NewEngine(cfg.Store, cfg.Transport, cfg.Classifier, cfg.Logger)
	if err != nil {
		return nil, err
	}
	engine.TopicPrefix, engine.Step = cfg.Config.TopicPrefix, cfg.Step
	return &App{cfg: cfg, engine: engine, log: engine.Logger, running: make(chan struct{}), idle: make(chan struct{}, 1)}, nil
}

// Register adds a consumer with a transactional handler.
func Register[T any](a *App, op Operation, h Handler[T]) error {
	c, err := NewConsumer(a.engine, a.cfg.Config.Apply(op), h)
	if err != nil {
		return err
	}
	return a.add(c)
}

// RegisterBatch adds a consumer that handles messages together; its transaction
// mode is [TransactionGroup].
func RegisterBatch[T any](a *App, op Operation, h BatchHandler[T]) error {
	c, err := NewBatchConsumer(a.engine, a.cfg.Config.Apply(op), h)
	if err != nil {
		return err
	}
	return a.add(c)
}

// RegisterExternal adds a consumer whose effect is outside the database.
func RegisterExternal[T, R any](a *App, op Operation, h External[T, R]) error {
	c, err := NewExternalConsumer(a.engine, a.cfg.Config.Apply(op), h)
	if err != nil {
		return err
	}
	return a.add(c)
}

func (a *App) add(c *Consumer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started {
		return fmt.Errorf("idem: operation %q: registered after Run", c.Name)
	}
	for _, other := range a.consumers {
		if other.Name == c.Name {
			return fmt.Errorf("idem: operation %q is registered twice: names are the scope of idempotency keys", c.Name)
		}
	}
	a.consumers = append(a.consumers, c)
	return nil
}

// Consumer returns the named consumer, or nil.
func (a *App) Consumer(name string) *Consumer {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.consumers {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Running is closed once every consumer has subscribed; never, if Run fails
// before that: select on Run's end, too.
func (a *App) Running() <-chan struct{} { return a.running }

// Ready returns nil when the application can work: broker and database answer
// and no consumer is paused. Otherwise the error names everything that is wrong.
func (a *App) Ready(ctx context.Context) error {
	var e fieldErrors
	select {
	case <-a.running:
	default:
		e.check(false, "app", "has not started")
	}
	e.check(!a.draining.Load(), "app", "is draining")
	if err := a.cfg.Transport.Ping(ctx); err != nil {
		e = append(e, fmt.Errorf("transport %s: %w", a.cfg.Transport.Name(), err))
	}
	if err := a.cfg.Store.Ping(ctx); err != nil {
		e = append(e, fmt.Errorf("store: %w", err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.consumers {
		if reason := c.Gate.Paused(); reason != "" {
			e.check(false, "consumer "+c.Name, "is paused: %s", reason)
		}
	}
	return e.join()
}
