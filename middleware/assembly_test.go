package middleware_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/middleware"
)

func nothing(context.Context, idem.Message[order]) error { return nil }

// What cannot work fails at start, and says how to mend it.
func TestBadAssemblyFailsAtStart(t *testing.T) {
	for name, tc := range map[string]struct {
		ops  []idem.Operation
		want string
	}{
		"dead letters into the source": {
			[]idem.Operation{{DeadLetterTopic: "orders"}}, "dead letters would come back",
		},
		"dead letters in a loop": {
			[]idem.Operation{{Name: "a", Topic: "x", DeadLetterTopic: "y"}, {Name: "b", Topic: "y", DeadLetterTopic: "x"}}, "come back to it",
		},
		"the same name twice":            {[]idem.Operation{{}, {}}, "registered twice"},
		"a dependency without a breaker": {[]idem.Operation{{Dependency: "gateway"}}, "gateway"},
		"no consumer":                    {nil, "no consumer"},
		"quick retries too long":         {[]idem.Operation{{Policy: idem.Policy{QuickDelay: time.Second}}}, "quickDelay"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, benchOptions{}, func(b *bench) {
				var err error
				for _, op := range tc.ops {
					if err = idem.Register(b.app, withDefaults(op), idem.HandlerFunc[order](nothing)); err != nil {
						break
					}
				}
				if err == nil {
					err = b.app.Run(b.t.Context())
				}
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want an error with %q", err, tc.want)
				}
			})
		})
	}
}

// An empty dead-letter topic means the default, never "drop".
func TestEmptyDeadLetterTopicMeansTheDefault(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{DeadLetterTopic: ""}, func(context.Context, idem.Message[order]) error { return idem.Permanent(errBlip) })
		b.start()
		copies := b.tap("orders.dlq")
		b.publish(order{ID: "1"})
		b.settle(time.Second)
		if len(copies()) != 1 {
			t.Error("no copy in orders.dlq")
		}
		b.wantDead(idem.ReasonPermanent)
	})
}

// Keys that are forgotten before the source forgets the message are reported.
func TestShortRetentionIsReported(t *testing.T) {
	inBubble(t, benchOptions{}, func(b *bench) {
		b.handle(idem.Operation{Retention: 5 * time.Minute}, nothing)
		b.start()
		if len(b.log.find("keys are forgotten")) != 1 {
			t.Error("a retention of 5 min against a source of 168 h was not reported")
		}
	})
}

// Every order of the parts but the one of Chain is refused.
func TestHarmfulOrderIsRefused(t *testing.T) {
	right := []middleware.Part{
		middleware.PartObserve, middleware.PartSettle, middleware.PartThrottle, middleware.PartBreaker,
		middleware.PartRetry, middleware.PartTimeout, middleware.PartRecover, middleware.PartIdempotency,
	}
	if err := middleware.Check(right...); err != nil {
		t.Errorf("the right order: %v", err)
	}
	if err := middleware.Check(middleware.PartSettle, middleware.PartIdempotency); err != nil {
		t.Errorf("a part of it in the right order: %v", err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		parts := slices.Clone(right)
		rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if !slices.Equal(parts, right) && middleware.Check(parts...) == nil {
			t.Fatalf("order %v was accepted", parts)
		}
	}
}
