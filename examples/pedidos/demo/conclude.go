package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
)

// conclude compares what was expected with what is there.
func (d *director) conclude() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r := d.result
	s, err := d.look(ctx)
	if err != nil && r.Error == "" {
		r.Error = idem.Summary(err)
	}
	if gap := s.missing(); r.Error != "" && gap != "" && !r.interrupted {
		r.Error += " (" + gap + ")"
	}
	t, _ := d.control.totals()
	r.Published = int(d.published.Load())
	r.Deliveries, r.DuplicatesIgnored, r.Retries, r.PausedResumed = t.Deliveries, t.Duplicates, t.Retries, t.Resumed
	r.Effects, r.Lost, r.Doubled, r.Discarded = len(s.effects), s.verdict.lost, s.verdict.doubled, s.discarded
	for _, n := range s.dead {
		r.DeadLetters += n
	}
	d.expectations(s)
	r.judge()
}

// expectations are the rows of the table. Both consumers of the topic of
// orders meet a bad message, each for itself.
func (d *director) expectations(s sight) {
	r, orders := d.result, len(d.plan.orders)
	invoices, reservations := countOf(s.effects, loja.Faturas), countOf(s.effects, loja.Reservas)
	payments, charges := countOf(s.effects, loja.Pagamentos), countOf(s.effects, cobrancas)

	r.expect("orders that come one to three times", invoices == orders && r.DuplicatesIgnored > 0,
		count(orders, "invoice"),
		count(invoices, "invoice")+", "+count(int(r.DuplicatesIgnored), "duplicate")+" ignored")
	deadLetters := func(what, reason string, n int) {
		want := consumersOfPedidos * n
		r.expect(what, s.dead[reason] == want, fmt.Sprintf("%s %q", count(want, "dead letter"), reason), fmt.Sprint(s.dead[reason]))
	}
	deadLetters("malformed JSON", idem.ReasonUndecodable, malformed)
	deadLetters("an order without its SKU", idem.ReasonInvalid, missing)
	deadLetters("a key again, with another amount", idem.ReasonKeyReuse, reused)
	r.expect("an order that does not exist", s.discarded == consumersOfPedidos*unknown,
		fmt.Sprintf("%d discarded with audit", consumersOfPedidos*unknown), fmt.Sprint(s.discarded))
	r.expect("a payment gateway down, then busy", charges == orders && payments == orders && s.unavailable > 0 && s.tooMany > 0,
		count(orders, "charge")+" and "+count(orders, "payment"),
		fmt.Sprintf("%d and %d, after %d × 503 and %d × 429", charges, payments, s.unavailable, s.tooMany))
	r.expect("a bug in the stock handler", reservations == orders && r.PausedResumed > 0,
		"paused, fixed, "+count(orders, "reservation"),
		count(int(r.PausedResumed), "pause")+" resumed, "+count(reservations, "reservation"))
	if d.o.Spawn != nil {
		r.expect("a killed instance", r.Killed == 1 && r.Lost == 0 && r.Doubled == 0,
			"1 killed, 0 lost, 0 doubled", fmt.Sprintf("%d killed, %d lost, %d doubled", r.Killed, r.Lost, r.Doubled))
	}
}
