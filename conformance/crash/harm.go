package crash

import (
	"context"
	"fmt"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// killAt lets a child kill itself at a step.
func killAt(s idem.Step) func(*runner, names, int) error {
	return func(r *runner, run names, nth int) error {
		if rare(s) {
			nth = 0
		}
		c, err := r.start(task{Run: run.run, Step: s, Nth: int32(1 + nth%3)})
		if err != nil {
			return err
		}
		defer c.kill()
		idle := time.NewTimer(idleAfter)
		defer idle.Stop()
		for {
			select {
			case <-c.ended:
				if c.cmd.ProcessState.ExitCode() >= 0 {
					return fmt.Errorf("a child ended by itself: %w", c.err)
				}
				return nil
			case _, ok := <-c.lines:
				if ok {
					idle.Reset(idleAfter)
				}
			case <-idle.C:
				return errNotPassed
			case <-r.ctx.Done():
				return context.Cause(r.ctx)
			}
		}
	}
}

// rare reports whether few messages of a batch pass a step.
func rare(s idem.Step) bool {
	switch s {
	case idem.StepIntentRecorded, idem.StepCalled, idem.StepRetryStored, idem.StepDeadLetterStored, idem.StepGivingBack, idem.StepGivenBack:
		return true
	}
	return false
}

// idleAfter is how long a child that says nothing may still come to its step.
const idleAfter = 12 * time.Second

// killAtRandom kills a child after some of its work.
func killAtRandom(r *runner, run names, _ int) error {
	c, err := r.start(task{Run: run.run})
	if err != nil {
		return err
	}
	return c.killAfter(r.ctx, chance(2*batch), time.Duration(chance(30))*time.Millisecond)
}

// killAfter kills the child when it has said so many lines, or is idle, and some
// time later.
func (p *process) killAfter(ctx context.Context, lines int, later time.Duration) error {
	defer p.kill()
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	for lines > 0 {
		select {
		case _, ok := <-p.lines:
			if !ok {
				<-p.ended
				return fmt.Errorf("a child ended by itself: %w", p.err)
			}
			lines--
			idle.Reset(2 * time.Second)
		case <-idle.C:
			lines = 0
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case <-time.After(later):
	case <-ctx.Done():
	}
	return nil
}

// killOneOfTwo lets two children work side by side and kills one of them.
func killOneOfTwo(r *runner, run names, nth int) error {
	a, err := r.start(task{Run: run.run})
	if err != nil {
		return err
	}
	defer a.kill()
	b, err := r.start(task{Run: run.run})
	if err != nil {
		return err
	}
	if nth%2 == 0 {
		a, b = b, a
		defer a.kill()
	}
	return b.killAfter(r.ctx, chance(batch), time.Duration(chance(30))*time.Millisecond)
}

// cutCommit cuts the database connection of a child in COMMIT, and goes on.
func cutCommit(applied bool) func(*runner, names, int) error {
	return func(r *runner, run names, nth int) error {
		line, err := newLine(r.ctx, string(r.Config.Postgres.DSN), applied, 2+nth%4)
		if err != nil {
			return err
		}
		defer line.close()
		through := *r
		through.through = line.dsn
		c, err := through.start(task{Run: run.run})
		if err != nil {
			return err
		}
		defer c.kill()
		select {
		case <-line.cut:
		case <-c.ended:
			select {
			case <-line.cut: // while it started, which it then gave up
				return nil
			default:
				return fmt.Errorf("a child ended by itself: %w", c.err)
			}
		case <-time.After(idleAfter):
			return errNotPassed
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
		select {
		case <-c.ended:
			return nil
		case <-c.running:
			return c.killAfter(r.ctx, chance(batch), 0)
		}
	}
}

// disturb does something to the servers while a child works.
func disturb(do func(context.Context) error) func(*runner, names, int) error {
	return func(r *runner, run names, _ int) error {
		c, err := r.start(task{Run: run.run})
		if err != nil {
			return err
		}
		defer c.kill()
		for n := chance(batch); n > 0; n-- {
			select {
			case _, ok := <-c.lines:
				if !ok {
					<-c.ended
					return fmt.Errorf("a child ended by itself: %w", c.err)
				}
			case <-time.After(idleAfter):
				n = 0
			}
		}
		return do(r.ctx)
	}
}
