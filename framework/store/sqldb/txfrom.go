package sqldb

import (
	"context"
	"database/sql"

	"github.com/idem-go/idem/framework/idem"
)

// TxFrom returns the transaction in which a handler runs, for its own
// statements: they commit together with the message or not at all. Elsewhere
// there is none, and TxFrom panics: such a call is a mistake in the program.
//
// Leave Commit and Rollback to idem, and return the error of a statement whose
// context ended: SQLite has then rolled the whole transaction back.
func TxFrom(ctx context.Context) *sql.Tx {
	tx, ok := idem.NativeTx(ctx).(*sql.Tx)
	if !ok {
		panic("sqldb: TxFrom outside a handler, or in a handler of another kind of store: pass on the handler's own context")
	}
	return tx
}
