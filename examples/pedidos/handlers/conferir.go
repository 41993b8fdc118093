package handlers

import (
	"context"
	"errors"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
)

// ErrPedidoDesconhecido says that the order does not exist. Nothing will change
// that, so the message is discarded, with audit.
var ErrPedidoDesconhecido = idem.Ignore(errors.New("pedido does not exist"))

// conferir returns ErrPedidoDesconhecido unless the order exists.
func conferir(ctx context.Context, l loja.Loja, pedidoID string) error {
	known, err := l.Existe(ctx, pedidoID)
	if err == nil && !known {
		err = ErrPedidoDesconhecido
	}
	return err
}
