package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/loja/sqlloja"
	"github.com/idem-go/idem/framework/idemtest"
)

// newWorld is what the handlers are tested on: a queue and the tables in a
// database of its own.
func newWorld(t *testing.T) *idemtest.World {
	w := idemtest.SQLite(t)
	if err := CreateTables(t.Context(), w.DB()); err != nil {
		t.Fatal(err)
	}
	return w
}

// estoque is the business side of the world. It knows the orders of the samples.
func estoque(t *testing.T, w *idemtest.World) sqlloja.Loja {
	t.Helper()
	l := sqlloja.Loja{DB: w.DB()}
	var ids []string
	for n := range 100 {
		ids = append(ids, fmt.Sprintf("p%05d", 1+n))
	}
	if err := l.Cadastrar(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
	return l
}

// pedidoID is the order that a message is about.
func pedidoID(m idemtest.Message) string {
	var p struct {
		PedidoID string `json:"pedidoId"`
	}
	if err := json.Unmarshal(m.Payload.([]byte), &p); err != nil {
		panic(err) // a sample is JSON
	}
	return p.PedidoID
}

// rows counts the rows of a business table that a message has left.
func rows(l loja.Admin, table string) func(context.Context, idemtest.Message) (int, error) {
	return func(ctx context.Context, m idemtest.Message) (n int, err error) {
		all, err := l.Efeitos(ctx)
		for _, e := range all {
			if e.Tabela == table && e.PedidoID == pedidoID(m) {
				n++
			}
		}
		return n, err
	}
}
