package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Spawn starts an instance of the service in a process of its own.
type Spawn func(name string, run Run) (Process, error)

// Process is a running instance.
type Process interface {
	// Wait returns when the instance has ended: nil after a clean drain. It is
	// called once.
	Wait() error
	// Drain asks the instance to finish what it has and end; it does not wait.
	Drain()
	// Kill ends the instance at once, as a power cut would.
	Kill() error
}

// How long an instance may drain at the end of a run, and at an interruption,
// after which nothing is to be proved.
const (
	drainWithin     = 15 * time.Second
	interruptWithin = 3 * time.Second
)

// crew are the running instances. One that ends although nobody stopped it is
// reported at once.
type crew struct {
	start func(name string) (Process, error)
	fail  func(error)

	members map[string]*member
}

type member struct {
	Process
	leaving atomic.Bool // its end is wanted
	ended   chan struct{}
	err     error // of Wait, once ended is closed
}

func (c *crew) add(name string) error {
	p, err := c.start(name)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	m := &member{Process: p, ended: make(chan struct{})}
	c.members[name] = m
	go func() {
		m.err = p.Wait()
		close(m.ended)
		switch {
		case m.leaving.Load():
		case m.err != nil:
			c.fail(fmt.Errorf("%s ended by itself: %w", name, m.err))
		default:
			c.fail(fmt.Errorf("%s ended by itself", name))
		}
	}()
	return nil
}

// kill ends an instance at once and waits for its end.
func (c *crew) kill(name string) error {
	m := c.members[name]
	delete(c.members, name)
	m.leaving.Store(true)
	if err := m.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	<-m.ended // with an error that says that it was killed, which is what we wanted
	return nil
}

// stop drains all instances and waits for their end; it kills those that take
// longer.
func (c *crew) stop(within time.Duration) error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for name, m := range c.members {
		wg.Go(func() {
			if err := m.stop(within); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("stop %s: %w", name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *member) stop(within time.Duration) error {
	select {
	case <-m.ended:
		return errors.Join(errors.New("ended by itself"), m.err)
	default:
	}
	m.leaving.Store(true)
	m.Drain()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-m.ended:
		return m.err
	case <-late.C:
	}
	if err := m.Kill(); err != nil {
		return fmt.Errorf("still running after %v: %w", within, err)
	}
	<-m.ended
	return fmt.Errorf("still running after %v, so it was killed", within)
}

// inProcess is an instance without a process of its own.
type inProcess struct {
	cancel context.CancelFunc
	done   chan error
}

func spawnInProcess(work func(context.Context) error) Process {
	ctx, cancel := context.WithCancel(context.Background())
	p := inProcess{cancel, make(chan error, 1)}
	go func() { p.done <- work(ctx) }()
	return p
}

func (p inProcess) Wait() error { return <-p.done }
func (p inProcess) Drain()      { p.cancel() }
func (p inProcess) Kill() error { return errors.New("an instance in this process cannot be killed") }
