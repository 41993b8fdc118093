package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

const _ = idem.GeneratedV1

// A handler that nobody has written yet stops its consumer and loses nothing.
func TestHandlerWithoutABodyPauses(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		var calls atomic.Int32
		b.handle(idem.Operation{Policy: idem.Policy{MaxAttempts: 3}}, func(context.Context, idem.Message[order]) error {
			calls.Add(1)
			return fmt.Errorf("faturar: %w", idem.ErrNotImplemented)
		})
		b.start()
		b.publish(order{ID: "1"}, order{ID: "2"})
		b.settle(time.Minute)
		if reason := b.app.Consumer("billing").Gate.Paused(); !strings.Contains(reason, "not implemented") || calls.Load() < 3 {
			t.Errorf("paused for %q after %d runs, want the missing handler after 3", reason, calls.Load())
		}
		b.wantDead()
		b.wantBacklog("orders", "billing", 2)
	})
}

// notMine is a decoder's way to say that the payload does not have the type.
type notMine struct{}

func (notMine) Error() string     { return "/id: not a string" }
func (notMine) Undecodable() bool { return true }

// decoded is a payload that decodes itself, by a header. Its Validate and its
// JSON form would refuse everything.
type decoded struct{ kind, id string }

func (*decoded) Validate() error            { return errors.New("Validate is DecodeMessage's business") }
func (*decoded) UnmarshalJSON([]byte) error { return errors.New("so is the JSON") }
func (d *decoded) DecodeMessage(info idem.Info, payload []byte) error {
	var o order
	if err := json.Unmarshal(payload, &o); err != nil {
		return fmt.Errorf("order: %w", errors.Join(errBlip, notMine{}))
	}
	if o.Total < 0 {
		return errors.New("/total: below the minimum")
	}
	d.kind, _ = info.Header("kind")
	d.id = info.Key
	return nil
}

func TestPayloadDecodesItself(t *testing.T) {
	kind := idem.Envelope{Headers: []idem.Header{{Name: "kind", Value: []byte("created")}}}
	publish := func(b *bench) {
		for _, body := range []string{`{"id":"1"}`, `{"id":"2","total":-1}`, `{"id":3,"total":1}`} {
			b.publishRaw("orders", kind, []byte(body))
			b.settle(time.Minute)
		}
	}
	check := func(b *bench) {
		b.wantEffects(map[string]int64{"1 created": 1, "2 created": 0, "3 created": 0})
		dead := b.wantDead(idem.ReasonInvalid, idem.ReasonUndecodable)
		if !strings.Contains(dead[0].Error, "/total: below") || !strings.Contains(dead[1].Error, "/id: not a string") {
			b.t.Errorf("dead letters say %q and %q", dead[0].Error, dead[1].Error)
		}
		for _, d := range dead {
			if d.Class != idem.ClassInvalid || d.Attempts != 0 {
				b.t.Errorf("dead letter of class %s after %d attempts, want invalid after none", d.Class, d.Attempts)
			}
		}
	}
	t.Run("own", func(t *testing.T) {
		inBubble(t, benchOptions{}, func(b *bench) {
			must(t, idem.Register(b.app, withDefaults(idem.Operation{}), idem.HandlerFunc[decoded](func(ctx context.Context, m idem.Message[decoded]) error {
				effect(ctx, m.Payload.id+" "+m.Payload.kind)
				return nil
			})))
			b.start()
			publish(b)
			check(b)
		})
	})
	t.Run("external", func(t *testing.T) {
		inBubble(t, benchOptions{}, func(b *bench) {
			must(t, idem.RegisterExternal[decoded, string](b.app, withDefaults(idem.Operation{}), selfDecoding{}))
			b.start()
			publish(b)
			check(b)
		})
	})
}

// selfDecoding fails its first call in doubt, so that all three steps decode.
type selfDecoding struct{}

func (selfDecoding) Call(_ context.Context, m idem.Message[decoded]) (string, error) {
	return "", fmt.Errorf("lost the answer for %s", m.Payload.id)
}

func (selfDecoding) Reconcile(_ context.Context, m idem.Message[decoded]) (string, idem.CallOutcome, error) {
	return m.Payload.id + " " + m.Payload.kind, idem.CallApplied, nil
}

func (selfDecoding) Apply(ctx context.Context, m idem.Message[decoded], r string) error {
	if r != m.Payload.id+" "+m.Payload.kind {
		return idem.Permanent(fmt.Errorf("result %q is not of this message", r))
	}
	effect(ctx, r)
	return nil
}

// A decoder behind a pointer could not be called: nothing would be checked.
func TestPointerToASelfDecodingPayloadIsRefused(t *testing.T) {
	engine, err := idem.NewEngine(memory.New(memory.Config{}), nil, idem.Classifier{}, nil)
	must(t, err)
	h := idem.HandlerFunc[*decoded](func(context.Context, idem.Message[*decoded]) error { return nil })
	if _, err := idem.NewConsumer(engine, withDefaults(idem.Operation{}), h); err == nil || !strings.Contains(err.Error(), "*middleware_test.decoded") {
		t.Errorf("error %v, want one that names the type", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
