package postgres

import (
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// names are what the SQL texts call {inbox}, {outbox}, …
type names struct {
	schema  string // quoted, "" if none
	prefix  string // validated: needs no quotes
	replace *strings.Replacer
}

func newNames(schema, prefix string) names {
	n := names{prefix: prefix}
	qualify := func(table string) string { return pgx.Identifier{prefix + table}.Sanitize() }
	if schema != "" {
		n.schema = pgx.Identifier{schema}.Sanitize()
		qualify = func(table string) string { return pgx.Identifier{schema, prefix + table}.Sanitize() }
	}
	n.replace = strings.NewReplacer(
		"{inbox}", qualify("inbox"),
		"{outbox}", qualify("outbox"),
		"{dead_letters}", qualify("dead_letters"),
		"{migration}", qualify("migration"),
		"{audit}", qualify("audit"),
		"{controls}", qualify("controls"),
		"{presence}", qualify("presence"),
		"{sightings}", qualify("sightings"),
		"{jobs}", qualify("jobs"),
		"{now}", "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint", // of the operators' tables
		"{prefix}", prefix, // of indexes, which live in their table's schema
	)
	return n
}

// lockID is the advisory lock of this set of tables for one purpose.
func (n names) lockID(purpose string) int64 {
	h := fnv.New64a()
	h.Write([]byte("idem\x00" + purpose + "\x00" + n.schema + "\x00" + n.prefix))
	return int64(h.Sum64())
}

// statements are the SQL texts with their tables filled in. They never change
// while the store lives, so that every connection prepares each once.
type statements struct {
	claim, record, otherRecord, renew, save, unsaved, sweep string
	claimAll, otherRecords                                  string
	emit, lease, published, postponed, depth                string
	park, getLetter, lockLetter, moveLetter, countLetters   string
	editLetter                                              string
}

func newStatements(n names) statements {
	in := n.replace.Replace
	return statements{
		claim: in(claimSQL), record: in(recordSQL), otherRecord: in(otherRecordSQL),
		claimAll: in(claimAllSQL), otherRecords: in(otherRecordsSQL),
		renew: in(renewSQL), save: in(saveSQL), unsaved: in(unsavedSQL), sweep: in(sweepSQL),
		emit: in(emitSQL), lease: in(leaseSQL), published: in(publishedSQL), postponed: in(postponedSQL), depth: in(depthSQL),
		park: in(parkSQL), getLetter: in(getLetterSQL), lockLetter: in(lockLetterSQL),
		moveLetter: in(moveLetterSQL), countLetters: in(countLettersSQL), editLetter: in(editLetterSQL),
	}
}
