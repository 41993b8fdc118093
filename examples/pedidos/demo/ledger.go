package demo

import (
	"slices"

	"github.com/idem-go/idem/examples/pedidos/loja"
)

// cobrancas are the charges that the payment gateway counted. They are effects
// like the rows of the business tables, only outside the database.
const cobrancas = "cobrancas"

// kinds are the effects that each good order has exactly once.
var kinds = [...]string{loja.Faturas, loja.Reservas, loja.Pagamentos, cobrancas}

// verdict is what the ledger says.
type verdict struct {
	// lost effects are missing; doubled ones are there and should not be: the
	// second of a kind for an order, one of a wrong amount, one of no order.
	lost, doubled int
}

// audit compares the good orders and their totals with the effects. It knows
// nothing of the framework.
func audit(orders map[string]int64, effects []loja.Efeito) verdict {
	type place struct{ kind, order string }
	found := map[place]int{}
	var v verdict
	for _, e := range effects {
		total, good := orders[e.PedidoID]
		amount := e.Tabela == loja.Reservas || e.Centavos == total // a reservation has none
		if !good || !amount || !slices.Contains(kinds[:], e.Tabela) {
			v.doubled++
			continue
		}
		found[place{e.Tabela, e.PedidoID}]++
	}
	for id := range orders {
		for _, kind := range kinds {
			if n := found[place{kind, id}]; n == 0 {
				v.lost++
			} else {
				v.doubled += n - 1
			}
		}
	}
	return v
}

// countOf is how many effects of a kind there are.
func countOf(effects []loja.Efeito, kind string) (n int) {
	for _, e := range effects {
		if e.Tabela == kind {
			n++
		}
	}
	return n
}
