package demo

import "github.com/idem-go/idem/examples/pedidos/loja"

// verdict is what the ledger says: how many effects are missing, and how many
// there are that should not be.
type verdict struct {
	effects, lost, doubled int
}

// audit compares what was published with the rows of the business tables and
// the gateway's charges. It knows nothing of the framework.
func audit(orders map[string]int64, rows []loja.Efeito, charges map[string]int) verdict {
	got := map[string]map[string]int{loja.Faturas: {}, loja.Reservas: {}, loja.Pagamentos: {}}
	var v verdict
	for _, r := range rows {
		v.effects++
		total, good := orders[r.PedidoID]
		if !good || r.Tabela != loja.Reservas && r.Centavos != total {
			v.doubled++ // an effect that nobody ordered, or of the wrong amount
			continue
		}
		got[r.Tabela][r.PedidoID]++
	}
	byTable := []map[string]int{got[loja.Faturas], got[loja.Reservas], got[loja.Pagamentos], charges}
	for id := range orders {
		for _, table := range byTable {
			switch n := table[id]; {
			case n == 0:
				v.lost++
			case n > 1:
				v.doubled += n - 1
			}
		}
	}
	for id, n := range charges {
		v.effects += n
		if _, good := orders[id]; !good {
			v.doubled += n
		}
	}
	return v
}
