package idem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
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
	// Config overrides what the operations say, per consumer, and gives the
	// error rules and time-outs that the fields below leave zero.
	Config Config
	// Transport, Store and Chain are required.
	Transport Transport
	Store     Store
	Chain     Chain
	// Services run beside the consumers.
	Services []Service
	// Classifier tells whose fault an error is; the zero value has the defaults.
	Classifier Classifier
	// Logger; nil discards.
	Logger *slog.Logger
	// DrainTimeout is how long handlers may finish after Run's context ended,
	// before they are cancelled. 0 means 25 s.
	DrainTimeout time.Duration
	// SweepEvery is how often expired keys are removed. 0 means 1 min.
	SweepEvery time.Duration
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
	e.check(cfg.DrainTimeout >= 0, "drainTimeout", "must not be negative, is %v", cfg.DrainTimeout)
	if err := e.join(); err != nil {
		return nil, fmt.Errorf("idem: app: %w", err)
	}
	cfg.DrainTimeout = cmp.Or(cfg.DrainTimeout, cfg.Config.DrainTimeout, 25*time.Second)
	cfg.SweepEvery = cmp.Or(cfg.SweepEvery, cfg.Config.SweepEvery, time.Minute)
	if len(cfg.Classifier.Rules) == 0 {
		cfg.Classifier = cfg.Config.Classifier()
	}
	engine, err := NewEngine(cfg.Store, cfg.Transport, cfg.Classifier, cfg.Logger)
	if err != nil {
		return nil, err
	}
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

// Running is closed once every consumer has subscribed.
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

// Run migrates the store, subscribes every consumer and works until ctx ends,
// then drains: intake stops, handlers finish (or are cancelled after
// DrainTimeout), subscribers close, services end. It returns nil only after a
// clean drain; a consumer or service that ends by itself is an error.
func (a *App) Run(ctx context.Context) error {
	if err := a.start(ctx); err != nil {
		return err
	}
	router, handlers, err := a.route()
	if err != nil {
		return err
	}
	failed := make(chan error, len(handlers)+len(a.cfg.Services)+2)
	services, stopServices := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServices()
	var servicesDone sync.WaitGroup
	for _, s := range append([]Service{sweeper{a.cfg.Store, a.cfg.SweepEvery, a.log}}, a.cfg.Services...) {
		servicesDone.Go(func() {
			if err := s.Run(services); err != nil && services.Err() == nil {
				failed <- fmt.Errorf("idem: service %T: %w", s, err)
			} else if services.Err() == nil {
				failed <- fmt.Errorf("idem: service %T ended by itself", s)
			}
		})
	}
	routerDone := make(chan error, 1)
	go func() { routerDone <- router.Run(context.WithoutCancel(ctx)) }()
	go a.watch(router, handlers, failed)

	var cause error
	select {
	case <-ctx.Done():
	case cause = <-failed:
		a.log.Error("idem: stopping because a part failed", "error", Summary(cause))
	case err := <-routerDone:
		routerDone <- nil
		cause = errors.Join(errors.New("idem: router ended by itself"), err)
	}
	err = errors.Join(cause, a.drain(router))
	<-routerDone
	stopServices()
	servicesDone.Wait()
	a.engine.stop(ErrShuttingDown)
	return err
}

func (a *App) start(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started {
		return errors.New("idem: Run may be called once")
	}
	a.started = true
	if len(a.consumers) == 0 {
		return errors.New("idem: no consumer is registered")
	}
	names := make([]string, len(a.consumers))
	for i, c := range a.consumers {
		names[i] = c.Name
	}
	if err := errors.Join(checkTopics(a.consumers), a.cfg.Config.CheckConsumers(names)); err != nil {
		return err
	}
	if err := a.checkCapabilities(); err != nil {
		return err
	}
	if err := a.cfg.Store.Migrate(ctx); err != nil {
		return fmt.Errorf("idem: migrate the store: %w", err)
	}
	topics := map[string]bool{}
	for _, c := range a.consumers {
		topics[c.Topic], topics[c.RetryTopic()] = true, true
		if c.DeadLetterTopic != NoDeadLetterTopic {
			topics[c.DeadLetterTopic] = true
		}
		for _, t := range c.Emits {
			topics[t] = true
		}
	}
	if err := a.cfg.Transport.EnsureTopics(ctx, sortedKeys(topics)...); err != nil {
		return fmt.Errorf("idem: topics: %w", err)
	}
	return nil
}

// checkCapabilities compares what the operations want with what the broker
// can do, before the first message rather than at it.
func (a *App) checkCapabilities() error {
	caps := a.cfg.Transport.Capabilities()
	var e fieldErrors
	for _, c := range a.consumers {
		e.check(c.Unordered || caps.OrderedByKey, "operation "+c.Name, "wants order by key, which transport %s cannot give: set Unordered", a.cfg.Transport.Name())
		e.check(caps.ConsumerGroups, "operation "+c.Name, "needs consumer groups, which transport %s has not", a.cfg.Transport.Name())
		e.check(caps.MaxDeliveries == 0 || caps.MaxDeliveries > c.Policy.MaxAttempts, "operation "+c.Name, "allows %d attempts, but transport %s drops a message after %d deliveries", c.Policy.MaxAttempts, a.cfg.Transport.Name(), caps.MaxDeliveries)
		horizon := time.Duration(c.Policy.MaxAttempts) * c.Policy.Backoff.Max
		if need := caps.Retention + horizon; c.Retention < need {
			a.log.Warn("idem: keys are forgotten before the source forgets the messages: a late replay would run again",
				"consumer", c.Name, "retention", c.Retention.String(), "source_retention", caps.Retention.String(), "retry_horizon", horizon.String(), "fix", "raise the operation's Retention to "+need.String())
		}
	}
	return e.join()
}

// route puts each consumer on a Watermill router: once for its topic, once for
// its retry topic.
func (a *App) route() (*message.Router, []*message.Handler, error) {
	logger := watermill.NewSlogLoggerWithLevelMapping(a.log, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: a.cfg.DrainTimeout + leaseGrace}, logger)
	if err != nil {
		return nil, nil, fmt.Errorf("idem: router: %w", err)
	}
	var handlers []*message.Handler
	for _, c := range a.consumers {
		chain, err := a.cfg.Chain(c)
		if err != nil {
			return nil, nil, fmt.Errorf("idem: operation %q: %w", c.Name, err)
		}
		sub, err := a.cfg.Transport.Subscriber(SubscriberConfig{
			Group: c.Name, Concurrency: c.Concurrency, Ordered: !c.Unordered, Gate: c.Gate, Logger: a.log,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("idem: operation %q: %w", c.Name, err)
		}
		for name, topic := range map[string]string{c.Name: c.Topic, c.Name + ".retry": c.RetryTopic()} {
			h := router.AddConsumerHandler(name, topic, sub, func(*message.Message) error { return nil })
			h.AddMiddleware(a.track)
			h.AddMiddleware(chain...)
			handlers = append(handlers, h)
		}
	}
	return router, handlers, nil
}

// track counts what is in flight, so that a drain knows when it is over.
func (a *App) track(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		a.inFlight.Add(1)
		defer func() {
			if a.inFlight.Add(-1) == 0 {
				select {
				case a.idle <- struct{}{}:
				default:
				}
			}
		}()
		return next(msg)
	}
}

// watch reports a consumer that ends while nobody asked it to.
func (a *App) watch(router *message.Router, handlers []*message.Handler, failed chan<- error) {
	<-router.Running()
	close(a.running)
	for _, h := range handlers {
		go func() {
			<-h.Stopped()
			if !a.draining.Load() {
				failed <- errors.New("idem: a consumer stopped by itself: its subscription ended")
			}
		}()
	}
}

func (a *App) drain(router *message.Router) error {
	a.draining.Store(true)
	for _, c := range a.consumers {
		c.Gate.Close()
	}
	var err error
	if !a.awaitIdle(a.cfg.DrainTimeout) {
		err = fmt.Errorf("idem: drain: %d messages were still being handled after %v and are given back", a.inFlight.Load(), a.cfg.DrainTimeout)
		a.engine.stop(ErrShuttingDown)
		a.awaitIdle(leaseGrace)
	}
	closing := make(chan error, 1)
	go func() { closing <- router.Close() }()
	// What was emitted but not handled when the gates closed may still start
	// here; it is given the same chance as the rest.
	return errors.Join(err, <-closing)
}

func (a *App) awaitIdle(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for a.inFlight.Load() > 0 {
		select {
		case <-a.idle:
		case <-deadline.C:
			return a.inFlight.Load() == 0
		}
	}
	return true
}
