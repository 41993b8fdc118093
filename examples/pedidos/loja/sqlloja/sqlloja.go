// Package sqlloja keeps the business tables in SQLite or PostgreSQL.
package sqlloja

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idemsql"
)

// Loja implements loja.Loja and loja.Admin.
type Loja struct {
	DB idemsql.DB
	// Schema of the tables in PostgreSQL; "" is the one that the connection finds.
	Schema string
}

// table is the name of a table in SQL.
func (l Loja) table(name string) string {
	if l.Schema == "" {
		return name
	}
	return quoted(l.Schema) + "." + name
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Existe implements loja.Loja.
func (l Loja) Existe(ctx context.Context, id string) (ok bool, err error) {
	err = l.DB.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+l.table("pedidos")+" WHERE id = $1)", id).Scan(&ok)
	return ok, err
}

// Faturar implements loja.Loja.
func (l Loja) Faturar(ctx context.Context, id string, centavos int64) error {
	return l.exec(ctx, "INSERT INTO "+l.table(loja.Faturas)+" (pedido_id, centavos) VALUES ($1, $2)", id, centavos)
}

// Reservar implements loja.Loja.
func (l Loja) Reservar(ctx context.Context, id, sku string) error {
	return l.exec(ctx, "INSERT INTO "+l.table(loja.Reservas)+" (pedido_id, sku) VALUES ($1, $2)", id, sku)
}

// Pagar implements loja.Loja.
func (l Loja) Pagar(ctx context.Context, id string, centavos int64, recibo string) error {
	return l.exec(ctx, "INSERT INTO "+l.table(loja.Pagamentos)+" (pedido_id, centavos, recibo) VALUES ($1, $2, $3)", id, centavos, recibo)
}

func (l Loja) exec(ctx context.Context, query string, args ...any) error {
	_, err := l.DB.Exec(ctx, query, args...)
	return err
}

// Criar implements loja.Admin.
func (l Loja) Criar(ctx context.Context) error {
	if l.Schema != "" {
		if err := l.exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoted(l.Schema)); err != nil {
			return err
		}
	}
	for name, columns := range map[string]string{
		"pedidos":       "id TEXT PRIMARY KEY",
		loja.Faturas:    "pedido_id TEXT NOT NULL, centavos BIGINT NOT NULL",
		loja.Reservas:   "pedido_id TEXT NOT NULL, sku TEXT NOT NULL",
		loja.Pagamentos: "pedido_id TEXT NOT NULL, centavos BIGINT NOT NULL, recibo TEXT NOT NULL",
	} {
		if err := l.exec(ctx, "CREATE TABLE IF NOT EXISTS "+l.table(name)+" ("+columns+")"); err != nil {
			return err
		}
	}
	return nil
}

// Cadastrar implements loja.Admin.
func (l Loja) Cadastrar(ctx context.Context, ids ...string) error {
	for some := range slices.Chunk(ids, 100) {
		args := make([]any, len(some))
		values := make([]string, len(some))
		for i, id := range some {
			args[i], values[i] = id, fmt.Sprintf("($%d)", i+1)
		}
		if err := l.exec(ctx, "INSERT INTO "+l.table("pedidos")+" (id) VALUES "+strings.Join(values, ", "), args...); err != nil {
			return err
		}
	}
	return nil
}

// Efeitos implements loja.Admin.
func (l Loja) Efeitos(ctx context.Context) ([]loja.Efeito, error) {
	rows, err := l.DB.Query(ctx, `
		SELECT 'faturas', pedido_id, centavos FROM `+l.table(loja.Faturas)+`
		UNION ALL SELECT 'reservas', pedido_id, 0 FROM `+l.table(loja.Reservas)+`
		UNION ALL SELECT 'pagamentos', pedido_id, centavos FROM `+l.table(loja.Pagamentos))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []loja.Efeito
	for rows.Next() {
		var e loja.Efeito
		if err := rows.Scan(&e.Tabela, &e.PedidoID, &e.Centavos); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Remover implements loja.Admin: SQLite's file goes with its folder.
func (l Loja) Remover(ctx context.Context) error {
	if l.Schema == "" {
		return nil
	}
	return l.exec(ctx, "DROP SCHEMA IF EXISTS "+quoted(l.Schema)+" CASCADE")
}
