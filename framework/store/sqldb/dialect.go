package sqldb

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// Dialect is what differs from one database to another: the texts of the
// statements and a few behaviours. Its fields are ours; [SQLite] makes one.
type Dialect struct {
	name string
	// migrations is the folder below migrations/ with the tables.
	migrations string
	// now is an expression for the database's time in microseconds.
	now string
	sql statements
	// findRecords and listOutbox are those of package opsql; tables and indexes
	// list names, of tables that are called $1 and of all indexes.
	findRecords, listOutbox, tables, indexes string
	// begin are statements that follow BEGIN, such as a lock time-out.
	begin func(claimWait time.Duration) []string
	// busy: the statement failed because somebody else holds a lock.
	busy func(error) bool
	// refused: a COMMIT that failed so certainly had no effect.
	refused func(error) bool
	// inFlight: Claim gave up waiting for the row.
	inFlight func(error) bool
	// alive reports whether tx is still a transaction; nil where a statement
	// that fails cannot dissolve it unnoticed.
	alive func(ctx context.Context, tx *sql.Tx) bool
	// singleWriter: a transaction that waits for another one of the same
	// goroutine would wait for ever.
	singleWriter bool
}

// statements are the texts; {inbox}, {outbox}, {dead_letters}, {schema} and
// {now} are replaced. The order of parameters is part of the contract: see
// where each is used.
type statements struct {
	createSchema, schemaVersion, recordMigration string

	claim, read, save string
	sweepInbox        string

	emit, leasable, lease, published, publishedKeep, postponed, depth string
	sweepOutbox                                                       string

	park, getLetter, listLetters, letterSeq, countLetters, countMatching string
	lockLetter, moveLetter, editLetter                                   string
}

// resolve puts the table names into the statements.
func (d Dialect) resolve(prefix string) (statements, *strings.Replacer) {
	names := strings.NewReplacer(
		"{inbox}", prefix+"inbox",
		"{outbox}", prefix+"outbox",
		"{dead_letters}", prefix+"dead_letters",
		"{schema}", prefix+"schema",
		"{audit}", prefix+"audit",
		"{controls}", prefix+"controls",
		"{presence}", prefix+"presence",
		"{sightings}", prefix+"sightings",
		"{jobs}", prefix+"jobs",
		"{now}", d.now,
	)
	st := d.sql
	for _, text := range st.all() {
		*text = names.Replace(*text)
	}
	return st, names
}

func (s *statements) all() []*string {
	return []*string{
		&s.createSchema, &s.schemaVersion, &s.recordMigration,
		&s.claim, &s.read, &s.save, &s.sweepInbox,
		&s.emit, &s.leasable, &s.lease, &s.published, &s.publishedKeep, &s.postponed, &s.depth, &s.sweepOutbox,
		&s.park, &s.getLetter, &s.listLetters, &s.letterSeq, &s.countLetters, &s.countMatching, &s.lockLetter, &s.moveLetter, &s.editLetter,
	}
}
