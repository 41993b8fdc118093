// Package pgloja keeps the business tables in PostgreSQL.
package pgloja

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/store/postgres"
)

// Loja implements loja.Loja and loja.Admin in one schema.
type Loja struct {
	Pool   *pgxpool.Pool
	Schema string
}

func (l Loja) table(name string) string { return pgx.Identifier{l.Schema, name}.Sanitize() }

// Existe implements loja.Loja.
func (l Loja) Existe(ctx context.Context, id string) (ok bool, err error) {
	err = postgres.TxFrom(ctx).QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+l.table("pedidos")+" WHERE id = $1)", id).Scan(&ok)
	return ok, err
}

// Faturar implements loja.Loja.
func (l Loja) Faturar(ctx context.Context, id string, centavos int64) error {
	return exec(ctx, "INSERT INTO "+l.table(loja.Faturas)+" (pedido_id, centavos) VALUES ($1, $2)", id, centavos)
}

// Reservar implements loja.Loja.
func (l Loja) Reservar(ctx context.Context, id, sku string) error {
	return exec(ctx, "INSERT INTO "+l.table(loja.Reservas)+" (pedido_id, sku) VALUES ($1, $2)", id, sku)
}

// Pagar implements loja.Loja.
func (l Loja) Pagar(ctx context.Context, id string, centavos int64, recibo string) error {
	return exec(ctx, "INSERT INTO "+l.table(loja.Pagamentos)+" (pedido_id, centavos, recibo) VALUES ($1, $2, $3)", id, centavos, recibo)
}

func exec(ctx context.Context, query string, args ...any) error {
	_, err := postgres.TxFrom(ctx).Exec(ctx, query, args...)
	return err
}

// Criar implements loja.Admin.
func (l Loja) Criar(ctx context.Context) error {
	_, err := l.Pool.Exec(ctx, `
		CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{l.Schema}.Sanitize()+`;
		CREATE TABLE IF NOT EXISTS `+l.table("pedidos")+` (id text PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS `+l.table(loja.Faturas)+` (pedido_id text NOT NULL, centavos bigint NOT NULL);
		CREATE TABLE IF NOT EXISTS `+l.table(loja.Reservas)+` (pedido_id text NOT NULL, sku text NOT NULL);
		CREATE TABLE IF NOT EXISTS `+l.table(loja.Pagamentos)+` (pedido_id text NOT NULL, centavos bigint NOT NULL, recibo text NOT NULL)`)
	return err
}

// Cadastrar implements loja.Admin.
func (l Loja) Cadastrar(ctx context.Context, ids ...string) error {
	_, err := l.Pool.Exec(ctx, "INSERT INTO "+l.table("pedidos")+" (id) SELECT unnest($1::text[])", ids)
	return err
}

// Efeitos implements loja.Admin.
func (l Loja) Efeitos(ctx context.Context) ([]loja.Efeito, error) {
	rows, err := l.Pool.Query(ctx, `
		SELECT 'faturas' AS tabela, pedido_id, centavos FROM `+l.table(loja.Faturas)+`
		UNION ALL SELECT 'reservas', pedido_id, 0 FROM `+l.table(loja.Reservas)+`
		UNION ALL SELECT 'pagamentos', pedido_id, centavos FROM `+l.table(loja.Pagamentos))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[loja.Efeito])
}

// Remover implements loja.Admin.
func (l Loja) Remover(ctx context.Context) error {
	_, err := l.Pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{l.Schema}.Sanitize()+" CASCADE")
	return err
}
