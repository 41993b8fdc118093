package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/framework/idem"
)

// TxFrom returns the transaction of the unit of work in ctx: what a handler
// writes through it commits together with the key's mark and the events it
// emits. It fits sqlc's DBTX. Its Commit and Rollback fail, since the
// framework's outcome decides; Begin makes a savepoint. It is closed when the
// handler has returned.
//
// Outside a handler, or with another store, it returns nil.
func TxFrom(ctx context.Context) pgx.Tx {
	tx, _ := idem.NativeTx(ctx).(pgx.Tx)
	return tx
}
