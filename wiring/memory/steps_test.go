package memory_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type order struct {
	ID string `json:"id"`
}

// path notes the steps of each message. The relay's messages go by their topic.
type path struct {
	mu    sync.Mutex
	steps map[string][]idem.Step
}

func (p *path) note(ctx context.Context, e idem.StepEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := e.MessageID
	if e.Consumer == "" {
		name = e.Topic
	}
	p.steps[name] = append(p.steps[name], e.Step)
}

type bank struct{}

func (bank) Call(_ context.Context, m idem.Message[order]) (string, error) { return m.Key, nil }
func (bank) Apply(context.Context, idem.Message[order], string) error      { return nil }

// Every message tells where it is, in the order of the path, and nothing else.
func TestStepsOfAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := path{steps: map[string][]idem.Step{}}
		p, closeAll, err := memory.Build(idem.Config{Transport: "memory"}, wiring.Options{
			Logger: slog.New(slog.DiscardHandler), Step: seen.note,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll()
		op := idem.Operation{Name: "orders", Topic: "orders", Key: idem.KeyFrom(idem.FromPayload("/id")), Policy: idem.Policy{Quick: -1}}
		external := op
		external.Name, external.Topic = "charges", "charges"
		runs := 0
		err = errors.Join(
			idem.Register(p.App, op, idem.HandlerFunc[order](func(ctx context.Context, m idem.Message[order]) error {
				switch m.Payload.ID {
				case "event":
					return idem.Emit(ctx, idem.Event{Topic: "invoices", Payload: m.Payload})
				case "poison":
					return idem.Permanent(errors.New("no"))
				case "blip":
					if runs++; runs == 1 {
						return errors.New("now and then")
					}
				}
				return nil
			})),
			idem.RegisterExternal[order, string](p.App, external, bank{}),
		)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.App.Run(ctx) }()
		<-p.App.Running()
		publish := func(topic, uuid, body string) {
			if err := p.Transport.Publisher().Publish(topic, message.NewMessage(uuid, []byte(body))); err != nil {
				t.Fatal(err)
			}
		}
		publish("orders", "event", `{"id":"event"}`)
		time.Sleep(time.Second) // of the bubble
		publish("orders", "again", `{"id":"event"}`)
		publish("orders", "poison", `{"id":"poison"}`)
		publish("orders", "blip", `{"id":"blip"}`)
		publish("charges", "call", `{"id":"call"}`)
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		run := []idem.Step{idem.StepReceived, idem.StepClaimed, idem.StepDecoded}
		done := []idem.Step{idem.StepCommitting, idem.StepCommitted, idem.StepAcking, idem.StepAcked}
		relayed := []idem.Step{idem.StepRelayLeased, idem.StepRelayPublished, idem.StepRelayMarked}
		want := map[string][]idem.Step{
			"event":  slices.Concat(run, []idem.Step{idem.StepEffectWritten, idem.StepOutboxWritten}, done),
			"again":  {idem.StepReceived, idem.StepAcking, idem.StepAcked},
			"poison": append(slices.Clone(run), idem.StepDeadLetterStored, idem.StepAcking, idem.StepAcked),
			"blip": slices.Concat(run, []idem.Step{idem.StepRetryStored, idem.StepGivingBack, idem.StepGivenBack},
				run, []idem.Step{idem.StepEffectWritten}, done),
			"call": slices.Concat([]idem.Step{idem.StepReceived, idem.StepClaimed, idem.StepIntentRecorded, idem.StepDecoded, idem.StepCalled,
				idem.StepEffectWritten}, done),
			"invoices": relayed, "orders.dlq": relayed,
		}
		if d := cmp.Diff(want, seen.steps); d != "" {
			t.Errorf("steps (-want +got):\n%s", d)
		}
		all := idem.Steps()
		for _, steps := range seen.steps {
			all = slices.DeleteFunc(all, func(s idem.Step) bool { return slices.Contains(steps, s) })
		}
		if len(all) > 0 {
			t.Errorf("steps that no message told: %v", all)
		}
	})
}
