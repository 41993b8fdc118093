package memory

import (
	"context"

	"github.com/idem-go/idem/framework/idem"
)

// TxFrom returns the transaction in which a handler runs, for its own writes:
// they commit together with the message or not at all. Elsewhere there is
// none, and TxFrom panics: such a call is a mistake in the program.
func TxFrom(ctx context.Context) *Tx {
	tx, ok := idem.NativeTx(ctx).(*Tx)
	if !ok {
		panic("memory: TxFrom outside a handler, or in a handler of another kind of store: pass on the handler's own context")
	}
	return tx
}
