// Package sqlloja keeps the business tables in SQLite.
package sqlloja

import (
	"context"
	"database/sql"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/store/sqldb"
)

// Loja implements loja.Loja and loja.Admin.
type Loja struct{ DB *sql.DB }

// Existe implements loja.Loja.
func (Loja) Existe(ctx context.Context, id string) (ok bool, err error) {
	err = sqldb.TxFrom(ctx).QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pedidos WHERE id = ?)", id).Scan(&ok)
	return ok, err
}

// Faturar implements loja.Loja.
func (Loja) Faturar(ctx context.Context, id string, centavos int64) error {
	return exec(ctx, "INSERT INTO faturas (pedido_id, centavos) VALUES (?, ?)", id, centavos)
}

// Reservar implements loja.Loja.
func (Loja) Reservar(ctx context.Context, id, sku string) error {
	return exec(ctx, "INSERT INTO reservas (pedido_id, sku) VALUES (?, ?)", id, sku)
}

// Pagar implements loja.Loja.
func (Loja) Pagar(ctx context.Context, id string, centavos int64, recibo string) error {
	return exec(ctx, "INSERT INTO pagamentos (pedido_id, centavos, recibo) VALUES (?, ?, ?)", id, centavos, recibo)
}

func exec(ctx context.Context, query string, args ...any) error {
	_, err := sqldb.TxFrom(ctx).ExecContext(ctx, query, args...)
	return err
}

// Criar implements loja.Admin.
func (l Loja) Criar(ctx context.Context) error {
	_, err := l.DB.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS pedidos (id TEXT PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS faturas (pedido_id TEXT NOT NULL, centavos INTEGER NOT NULL);
		CREATE TABLE IF NOT EXISTS reservas (pedido_id TEXT NOT NULL, sku TEXT NOT NULL);
		CREATE TABLE IF NOT EXISTS pagamentos (pedido_id TEXT NOT NULL, centavos INTEGER NOT NULL, recibo TEXT NOT NULL)`)
	return err
}

// Cadastrar implements loja.Admin.
func (l Loja) Cadastrar(ctx context.Context, ids ...string) error {
	tx, err := l.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, "INSERT INTO pedidos (id) VALUES (?)", id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Efeitos implements loja.Admin.
func (l Loja) Efeitos(ctx context.Context) ([]loja.Efeito, error) {
	rows, err := l.DB.QueryContext(ctx, `
		SELECT 'faturas', pedido_id, centavos FROM faturas
		UNION ALL SELECT 'reservas', pedido_id, 0 FROM reservas
		UNION ALL SELECT 'pagamentos', pedido_id, centavos FROM pagamentos`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
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

// Remover implements loja.Admin: the file goes with its folder.
func (Loja) Remover(context.Context) error { return nil }
