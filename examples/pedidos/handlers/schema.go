package handlers

import (
	"context"

	"github.com/idem-go/idem/examples/pedidos/loja/sqlloja"
	"github.com/idem-go/idem/framework/idemsql"
)

// CreateTables makes the business tables unless they are there.
func CreateTables(ctx context.Context, db idemsql.DB) error { return sqlloja.Loja{DB: db}.Criar(ctx) }
