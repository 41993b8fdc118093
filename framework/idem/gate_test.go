package idem_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

func waiting(ctx context.Context, g *idem.Gate) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.Wait(ctx) }()
	synctest.Wait()
	return done
}

func TestGate(t *testing.T) {
	open := func(done <-chan error) bool {
		synctest.Wait()
		select {
		case err := <-done:
			return err == nil
		default:
			return false
		}
	}
	for name, f := range map[string]func(*testing.T, *idem.Gate){
		"the zero value is open": func(t *testing.T, g *idem.Gate) {
			if err := g.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"a pause lasts until Resume and keeps its first reason": func(t *testing.T, g *idem.Gate) {
			g.Pause("first")
			g.Pause("second")
			done := waiting(t.Context(), g)
			time.Sleep(time.Hour)
			if open(done) || g.Paused() != "first" {
				t.Errorf("paused: %q", g.Paused())
			}
			g.Resume()
			if !open(done) {
				t.Error("still shut after Resume")
			}
		},
		"a hold ends by itself, the longest counts": func(t *testing.T, g *idem.Gate) {
			g.HoldFor(time.Minute)
			g.HoldFor(time.Second)
			done := waiting(t.Context(), g)
			time.Sleep(59 * time.Second)
			if open(done) {
				t.Error("opened early")
			}
			time.Sleep(time.Second)
			if !open(done) {
				t.Error("still shut")
			}
		},
		"a pause without a reason is a pause": func(t *testing.T, g *idem.Gate) {
			g.Pause("")
			if done := waiting(t.Context(), g); open(done) || g.Paused() == "" {
				t.Error("not paused")
			}
			g.Resume()
		},
		"the caller's context ends the waiting": func(t *testing.T, g *idem.Gate) {
			g.Pause("bug")
			ctx, cancel := context.WithCancel(t.Context())
			done := waiting(ctx, g)
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		},
		"Close is for good": func(t *testing.T, g *idem.Gate) {
			g.Pause("bug")
			done := waiting(t.Context(), g)
			g.Close()
			g.Resume()
			if err := <-done; !errors.Is(err, idem.ErrShuttingDown) {
				t.Errorf("got %v", err)
			}
			if err := g.Wait(t.Context()); !errors.Is(err, idem.ErrShuttingDown) {
				t.Errorf("got %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, new(idem.Gate)) })
		})
	}
}
