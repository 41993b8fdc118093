package matrix

import (
	"context"
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

// The broker knows a consumer by its prefixed name, the records of keys by its
// own: programs on one cluster do not share a group by chance.
func TestGroupPrefix(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.cfg.GroupPrefix = "shop."
		p := w.app(t)
		op := w.operation("billing")
		running, finish := make(chan string, 1), make(chan struct{})
		must(t, idem.Register(p.App, op, idem.HandlerFunc[event](func(ctx context.Context, m idem.Message[event]) error {
			running <- m.Consumer
			<-finish
			return p.effect(ctx, m.Payload.ID)
		})))
		p.start()
		p.publish("1")
		if name := <-running; name != op.Name {
			t.Errorf("the handler's consumer is %q, want %q", name, op.Name)
		}
		if n, known := p.backlog("shop." + op.Name); known && n != 1 {
			t.Errorf("the group with the prefix has a backlog of %d, want 1", n)
		}
		close(finish)
		p.awaitEffects("1")
	})
}
