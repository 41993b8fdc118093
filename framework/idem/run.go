package idem

import (
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

// Run migrates the store, subscribes every consumer and works until ctx ends,
// then drains: intake stops, handlers finish (or are cancelled after
// DrainTimeout), subscribers close, services end. It returns nil only after a
// clean drain; a consumer or service that ends by itself is an error.
func (a *App) Run(ctx context.Context) error {
	if err := a.start(ctx); err != nil {
		return err
	}
	router, handlers, err := a.route(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	failed := make(chan error, len(handlers)+len(a.cfg.Services)+2)
	services, stopServices := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServices()
	var servicesDone sync.WaitGroup
	for _, s := range append([]Service{sweeper{a.cfg.Store, a.cfg.Config.SweepEvery, a.log}}, a.cfg.Services...) {
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
	<-router.Running()
	a.watch(handlers, failed)
	a.log.Info("idem: running", "transport", a.cfg.Transport.Name(), "consumers", a.names())
	err = a.untilEnd(ctx, router, routerDone, failed)
	stopServices()
	servicesDone.Wait()
	a.engine.stop(ErrShuttingDown)
	a.log.Info("idem: stopped", "clean", err == nil)
	return err
}

// untilEnd waits for the order to stop, or for a part that fails, and drains.
func (a *App) untilEnd(ctx context.Context, router *message.Router, routerDone, failed <-chan error) error {
	var cause error
	select {
	case <-ctx.Done():
	case cause = <-failed:
		a.log.Error("idem: stopping because a part failed", "error", Summary(cause))
	case err := <-routerDone:
		return errors.Join(errors.New("idem: router ended by itself"), err)
	}
	err := errors.Join(cause, a.drain(router))
	return errors.Join(err, <-routerDone)
}

func (a *App) start(ctx context.Context) error {
	a.mu.Lock()
	again := a.started
	a.started = true // from here on the consumers are not changed any more
	a.mu.Unlock()
	if again {
		return errors.New("idem: Run may be called once")
	}
	if len(a.consumers) == 0 {
		return errors.New("idem: no consumer is registered")
	}
	if err := errors.Join(checkTopics(a.consumers), a.cfg.Config.CheckConsumers(a.names())); err != nil {
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

func (a *App) names() []string {
	names := make([]string, len(a.consumers))
	for i, c := range a.consumers {
		names[i] = c.Name
	}
	return names
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

// route subscribes each consumer, to its topic and to its retry topic, and puts
// the subscriptions on a Watermill router.
func (a *App) route(ctx context.Context) (*message.Router, []*message.Handler, error) {
	logger := watermill.NewSlogLoggerWithLevelMapping(a.log, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: closeTimeout}, logger)
	if err != nil {
		return nil, nil, fmt.Errorf("idem: router: %w", err)
	}
	var handlers []*message.Handler
	var opened []subscription
	for _, c := range a.consumers {
		added, err := a.subscribe(ctx, c)
		opened = append(opened, added...)
		if err != nil {
			err = fmt.Errorf("idem: operation %q: %w", c.Name, err)
			for _, s := range opened {
				err = errors.Join(err, s.Close())
			}
			return nil, nil, err
		}
	}
	for _, s := range opened {
		h := router.AddConsumerHandler(s.name, s.topic, s, func(*message.Message) error { return nil })
		h.AddMiddleware(a.track)
		h.AddMiddleware(s.chain...)
		handlers = append(handlers, h)
	}
	return router, handlers, nil
}

// subscription is a subscriber that the router finds subscribed: a router that
// fails to subscribe cannot be closed.
type subscription struct {
	message.Subscriber
	name, topic string
	chain       []message.HandlerMiddleware
	messages    <-chan *message.Message
}

// Subscribe implements message.Subscriber.
func (s subscription) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return s.messages, nil
}

func (a *App) subscribe(ctx context.Context, c *Consumer) (opened []subscription, err error) {
	chain, err := a.cfg.Chain(c)
	if err != nil {
		return nil, err
	}
	sub, err := a.cfg.Transport.Subscriber(SubscriberConfig{
		Group: a.cfg.Config.Group(c.Name), Concurrency: c.Concurrency, Ordered: !c.Unordered, Gate: c.Gate, Logger: a.log,
		Step: a.engine.stepsOf(c.Name),
	})
	if err != nil {
		return nil, err
	}
	for _, s := range []subscription{{name: c.Name, topic: c.Topic}, {name: c.Name + ".retry", topic: c.RetryTopic()}} {
		s.Subscriber, s.chain = sub, chain
		if s.messages, err = sub.Subscribe(ctx, s.topic); err != nil {
			return append(opened, subscription{Subscriber: sub}), fmt.Errorf("subscribe to %q: %w", s.topic, err)
		}
		opened = append(opened, s)
	}
	return opened, nil
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
func (a *App) watch(handlers []*message.Handler, failed chan<- error) {
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

const (
	// stopGrace is how long cancelled handlers may take to return, closeTimeout
	// how long the router may take to close. Together with the default
	// DrainTimeout they stay within the 30 s that Kubernetes gives.
	stopGrace    = time.Second
	closeTimeout = 3 * time.Second
)

func (a *App) drain(router *message.Router) error {
	a.draining.Store(true)
	for _, c := range a.consumers {
		c.Gate.Close()
	}
	// One budget for everything, also for what was emitted but not begun when
	// the gates closed and starts while the router closes.
	var abandoned atomic.Int64
	hard := time.AfterFunc(a.cfg.Config.DrainTimeout, func() {
		abandoned.Store(a.inFlight.Load())
		a.engine.stop(ErrShuttingDown)
	})
	defer hard.Stop()
	a.awaitIdle(a.cfg.Config.DrainTimeout + stopGrace)
	err := router.Close()
	if n := abandoned.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("idem: drain: %d messages were still being handled after %v and are given back", n, a.cfg.Config.DrainTimeout))
	}
	return err
}

func (a *App) awaitIdle(d time.Duration) {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for a.inFlight.Load() > 0 {
		select {
		case <-a.idle:
		case <-deadline.C:
			return
		}
	}
}
