package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
)

// sight is what there is to see of a run at one moment.
type sight struct {
	effects              []loja.Efeito // rows and charges
	verdict              verdict
	unavailable, tooMany int            // refusals of the gateway
	dead                 map[string]int // parked dead letters by reason
	discarded            int
	waiting              int // messages that are still in the outbox or unsettled at the broker
}

func (d *director) look(ctx context.Context) (s sight, err error) {
	var errs [4]error
	s.effects, errs[0] = d.own.Loja.Efeitos(ctx)
	charges, unavailable, tooMany := d.control.gateway.seen()
	s.effects = append(s.effects, charges...)
	s.unavailable, s.tooMany = unavailable, tooMany
	s.verdict = audit(d.plan.orders, s.effects)
	s.dead, s.discarded, errs[1] = d.lettersByReason(ctx)
	var unsettled int
	s.waiting, _, errs[2] = d.own.Store.OutboxDepth(ctx)
	unsettled, errs[3] = d.unsettled(ctx)
	s.waiting += unsettled
	return s, errors.Join(errs[:]...)
}

func (d *director) lettersByReason(ctx context.Context) (dead map[string]int, discarded int, err error) {
	dead = map[string]int{}
	for letter, err := range d.own.DeadLetters.All(ctx, idem.DeadLetterQuery{}) {
		if err != nil {
			return nil, 0, err
		}
		if letter.State == idem.DeadLetterDiscarded {
			discarded++
		} else {
			dead[letter.Reason]++
		}
	}
	return dead, discarded, nil
}

// unsettled counts what the consumers have not settled, on the transports that
// can tell. On Kafka it is always 0.
func (d *director) unsettled(ctx context.Context) (total int, err error) {
	broker, ok := d.own.Transport.(interface {
		Depth(ctx context.Context, topic, group string) (n int, oldest time.Duration, err error)
	})
	if !ok {
		return 0, nil
	}
	for _, op := range operations() {
		op = d.cfg.Apply(op)
		for _, topic := range []string{op.Topic, op.RetryTopic()} {
			n, _, err := broker.Depth(ctx, topic, d.cfg.Group(op.Name))
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

// missing says what has not come yet; "" is nothing.
func (s sight) missing() string {
	dead := 0
	for _, n := range s.dead {
		dead += n
	}
	switch wantDead := consumersOfPedidos * (malformed + missing + reused); {
	case s.verdict.lost > 0:
		return count(s.verdict.lost, "effect") + " missing"
	case dead < wantDead:
		return fmt.Sprintf("%d of %s", dead, count(wantDead, "dead letter"))
	case s.discarded < consumersOfPedidos*unknown:
		return fmt.Sprintf("%d of %s", s.discarded, count(consumersOfPedidos*unknown, "discard"))
	case s.waiting > 0:
		return count(s.waiting, "message") + " not settled"
	default:
		return ""
	}
}

// quietFor is how long nothing may have moved at the end of a run, and
// takeOver how much longer than Kafka's session time-out it may take until the
// messages of a killed instance come to another one: what comes late could
// still double an effect.
const (
	quietFor = 500 * time.Millisecond
	takeOver = 2 * time.Second
)

// complete reports whether everything expected is there and nothing moves any
// more.
func (d *director) complete(ctx context.Context) bool {
	if _, quiet := d.control.totals(); quiet < quietFor || int(d.published.Load()) < len(d.plan.messages) {
		return false
	}
	if d.result.Killed > 0 && d.result.Transport == "kafka" && time.Since(d.killedAt) < d.o.Config.Kafka.SessionTimeout+takeOver {
		return false
	}
	s, err := d.look(ctx)
	return err == nil && s.missing() == ""
}
