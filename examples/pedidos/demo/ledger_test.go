package demo

import (
	"slices"
	"testing"

	"github.com/idem-go/idem/examples/pedidos/loja"
)

// The ledger finds every way in which effects can be wrong.
func TestAudit(t *testing.T) {
	orders := map[string]int64{"p1": 100, "p2": 250}
	var right []loja.Efeito
	for id, total := range orders {
		right = append(right,
			loja.Efeito{Tabela: loja.Faturas, PedidoID: id, Centavos: total}, loja.Efeito{Tabela: loja.Reservas, PedidoID: id},
			loja.Efeito{Tabela: loja.Pagamentos, PedidoID: id, Centavos: total}, loja.Efeito{Tabela: cobrancas, PedidoID: id, Centavos: total})
	}
	with := func(more ...loja.Efeito) []loja.Efeito { return append(slices.Clone(right), more...) }
	without := func(table, id string) []loja.Efeito {
		return slices.DeleteFunc(slices.Clone(right), func(e loja.Efeito) bool { return e.Tabela == table && e.PedidoID == id })
	}
	charge := func(id string, centavos int64) loja.Efeito {
		return loja.Efeito{Tabela: cobrancas, PedidoID: id, Centavos: centavos}
	}
	for _, tc := range []struct {
		name    string
		effects []loja.Efeito
		want    verdict
	}{
		{"all is well", right, verdict{}},
		{"nothing happened", nil, verdict{lost: 8}},
		{"a lost invoice", without(loja.Faturas, "p1"), verdict{lost: 1}},
		{"a lost reservation", without(loja.Reservas, "p2"), verdict{lost: 1}},
		{"a lost payment", without(loja.Pagamentos, "p2"), verdict{lost: 1}},
		{"a lost charge", without(cobrancas, "p1"), verdict{lost: 1}},
		{"a doubled invoice", with(loja.Efeito{Tabela: loja.Faturas, PedidoID: "p1", Centavos: 100}), verdict{doubled: 1}},
		{"a doubled reservation", with(loja.Efeito{Tabela: loja.Reservas, PedidoID: "p1"}), verdict{doubled: 1}},
		{"a doubled payment", with(loja.Efeito{Tabela: loja.Pagamentos, PedidoID: "p2", Centavos: 250}), verdict{doubled: 1}},
		{"a card charged three times", with(charge("p1", 100), charge("p1", 100)), verdict{doubled: 2}},
		{"a wrong amount beside the right one", with(charge("p1", 101)), verdict{doubled: 1}},
		{"a wrong amount instead of the right one", append(without(cobrancas, "p1"), charge("p1", 101)), verdict{lost: 1, doubled: 1}},
		{"a charge for no order", with(charge("x0", 100)), verdict{doubled: 1}},
		{"a reservation for no order", with(loja.Efeito{Tabela: loja.Reservas, PedidoID: "x0"}), verdict{doubled: 1}},
		{"an effect of an unknown kind", with(loja.Efeito{Tabela: "estornos", PedidoID: "p1", Centavos: 100}), verdict{doubled: 1}},
		{"one lost, another doubled", append(without(cobrancas, "p1"), charge("p2", 250)), verdict{lost: 1, doubled: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := audit(orders, tc.effects); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
