package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idem-go/idem/framework/idem"
)

// SQLSTATEs that change what we do.
const (
	lockNotAvailable = "55P03"
	txAborted        = "25P02"
)

// storeError wraps a failure outside the handler. The SQLSTATE, if there is
// one, stays reachable.
func storeError(doing string, err error) error {
	if sqlState(err) == txAborted {
		err = abortedError{err}
	}
	return fmt.Errorf("postgres: %s: %w: %w", doing, idem.ErrStore, err)
}

// unknownCommit wraps a failure after which COMMIT may or may not have taken effect.
func unknownCommit(err error) error {
	return fmt.Errorf("postgres: COMMIT: %w: %w: %w", idem.ErrStore, idem.ErrUnknownCommit, err)
}

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// serverRefused reports whether the server itself said that the statement
// failed, and lives. A FATAL error ends the session, and may come after a
// COMMIT that took effect.
func serverRefused(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	severity := pg.SeverityUnlocalized
	if severity == "" {
		severity = pg.Severity
	}
	return severity == "ERROR"
}

// abortedError is a transaction that cannot commit because a statement failed
// and nobody said so.
type abortedError struct{ cause error }

func (e abortedError) Error() string {
	return "an earlier statement failed and the handler did not return its error, so the transaction was rolled back: return the error of every statement, or use a savepoint (tx.Begin)"
}
func (e abortedError) SQLState() string { return txAborted }
func (e abortedError) Unwrap() error    { return e.cause }
