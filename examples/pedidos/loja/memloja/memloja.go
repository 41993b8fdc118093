// Package memloja keeps the business tables in memory, in the transactional
// table of idem's memory store.
package memloja

import (
	"context"
	"strconv"
	"strings"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

// Loja implements loja.Loja and loja.Admin. A row is a key "table/pedido/n".
type Loja struct{ Tables *memory.Store }

// Existe implements loja.Loja.
func (Loja) Existe(ctx context.Context, id string) (bool, error) {
	_, ok := memory.TxFrom(ctx).Get("pedidos/" + id)
	return ok, nil
}

// Faturar implements loja.Loja.
func (Loja) Faturar(ctx context.Context, id string, centavos int64) error {
	return insert(ctx, loja.Faturas, id, centavos)
}

// Reservar implements loja.Loja.
func (Loja) Reservar(ctx context.Context, id, _ string) error {
	return insert(ctx, loja.Reservas, id, 0)
}

// Pagar implements loja.Loja.
func (Loja) Pagar(ctx context.Context, id string, centavos int64, _ string) error {
	return insert(ctx, loja.Pagamentos, id, centavos)
}

// insert adds a row, also when there is one already.
func insert(ctx context.Context, table, id string, centavos int64) error {
	tx := memory.TxFrom(ctx)
	for n := 1; ; n++ {
		key := table + "/" + id + "/" + strconv.Itoa(n)
		if _, taken := tx.Get(key); !taken {
			tx.Set(key, strconv.FormatInt(centavos, 10))
			return nil
		}
	}
}

// Criar implements loja.Admin.
func (Loja) Criar(context.Context) error { return nil }

// Cadastrar implements loja.Admin.
func (l Loja) Cadastrar(ctx context.Context, ids ...string) error {
	return l.Tables.Do(ctx, func(tx idem.Tx) error {
		for _, id := range ids {
			tx.Native().(*memory.Tx).Set("pedidos/"+id, "")
		}
		return nil
	})
}

// Efeitos implements loja.Admin.
func (l Loja) Efeitos(context.Context) ([]loja.Efeito, error) {
	var out []loja.Efeito
	for key, value := range l.Tables.Rows() {
		table, rest, _ := strings.Cut(key, "/")
		if table == "pedidos" {
			continue
		}
		id, _, _ := strings.Cut(rest, "/")
		centavos, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, loja.Efeito{Tabela: table, PedidoID: id, Centavos: centavos})
	}
	return out, nil
}

// Remover implements loja.Admin.
func (Loja) Remover(context.Context) error { return nil }
