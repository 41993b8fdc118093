package sqldb

import (
	"database/sql"
	"errors"
)

// BreakNextCommit makes the next COMMIT fail as if the connection broke,
// before it took effect or after.
func (s *Store) BreakNextCommit(applied bool) {
	s.commit = func(tx *sql.Tx) error {
		s.commit = (*sql.Tx).Commit
		end := (*sql.Tx).Rollback
		if applied {
			end = (*sql.Tx).Commit
		}
		return errors.Join(errors.New("connection reset"), end(tx))
	}
}

// Statements returns every statement by its text, for query plans.
func (s *Store) Statements() (leasable, lease, emit, sweepInbox, sweepOutbox, depth, countLetters string) {
	return s.sql.leasable, s.sql.lease, s.sql.emit, s.sql.sweepInbox, s.sql.sweepOutbox, s.sql.depth, s.sql.countLetters
}

var (
	EncodeHeaders = encodeHeaders
	DecodeHeaders = decodeHeaders
)
