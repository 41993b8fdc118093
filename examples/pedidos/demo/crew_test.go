package demo

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a process that ends when it is told so.
type fake struct {
	ended   chan error
	obeys   bool // drains when asked
	mortal  bool // can be killed
	drained bool
}

func newFake(obeys, mortal bool) *fake {
	return &fake{ended: make(chan error, 1), obeys: obeys, mortal: mortal}
}

func (f *fake) Wait() error { return <-f.ended }

func (f *fake) Drain() {
	if f.drained = true; f.obeys {
		f.ended <- nil
	}
}

func (f *fake) Kill() error {
	if !f.mortal {
		return errors.New("cannot be killed")
	}
	f.ended <- errors.New("signal: killed")
	return nil
}

func crewOf(t *testing.T, members map[string]*fake, fail func(error)) *crew {
	c := &crew{fail: fail, members: map[string]*member{}}
	c.start = func(name string) (Process, error) { return members[name], nil }
	for name := range members {
		if err := c.add(name); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestCrewDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake(true, true), newFake(true, true)
		c := crewOf(t, map[string]*fake{"a": a, "b": b}, func(err error) { t.Error(err) })
		if err := c.stop(time.Minute); err != nil || !a.drained || !b.drained {
			t.Errorf("%v, drained %v and %v", err, a.drained, b.drained)
		}
		synctest.Wait()
	})
}

// One that does not drain is killed, and that is told.
func TestCrewKillsWhatDoesNotDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crewOf(t, map[string]*fake{"a": newFake(false, true), "b": newFake(true, true)}, func(err error) { t.Error(err) })
		begin := time.Now()
		err := c.stop(time.Minute)
		if err == nil || !strings.Contains(err.Error(), "stop a: still running after 1m0s, so it was killed") || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// One that can neither be drained nor killed is not waited for.
func TestCrewGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newFake(false, false)
		c := crewOf(t, map[string]*fake{"a": a}, func(err error) { t.Error(err) })
		if err := c.stop(time.Minute); err == nil || !strings.Contains(err.Error(), "cannot be killed") {
			t.Error(err)
		}
		a.ended <- nil // for the watching goroutine
	})
}

// One that dies is reported at once; one that we kill is not.
func TestCrewReportsADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake(true, true), newFake(true, true)
		var failures []string
		c := crewOf(t, map[string]*fake{"a": a, "b": b}, func(err error) { failures = append(failures, err.Error()) })
		if err := c.kill("b"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(failures) != 0 {
			t.Errorf("killed, and reported %q", failures)
		}
		a.ended <- errors.New("exit status 3")
		synctest.Wait()
		if len(failures) != 1 || failures[0] != "a ended by itself: exit status 3" {
			t.Errorf("died, and reported %q", failures)
		}
		if err := c.stop(time.Minute); err == nil || a.drained {
			t.Errorf("stopping the dead: %v", err)
		}
	})
}
