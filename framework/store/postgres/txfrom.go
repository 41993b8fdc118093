package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/idem"
)

// TxFrom returns the transaction of the unit of work in ctx: what a handler
// writes through it commits together with the key's mark and the events it
// emits. It fits the DBTX interface of sqlc-generated code. Its Commit and
// Rollback fail, since the handler's result decides; Begin makes a savepoint.
// It is closed as soon as the unit of work has ended.
//
// It panics outside a handler, and with another store than this one.
func TxFrom(ctx context.Context) pgx.Tx {
	tx, ok := idem.NativeTx(ctx).(pgx.Tx)
	if !ok {
		panic("postgres: TxFrom outside a handler, or the application's store is another one")
	}
	return tx
}
