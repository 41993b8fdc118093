package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// SQLite is the dialect of SQLite 3.42 or later, tested with modernc.org/sqlite.
func SQLite() Dialect {
	return Dialect{
		name:         "sqlite",
		migrations:   "sqlite",
		now:          "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		sql:          sqliteStatements,
		findRecords:  sqliteFindRecords,
		listOutbox:   sqliteListOutbox,
		tables:       `SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1`,
		indexes:      `SELECT name FROM sqlite_master WHERE type = 'index'`,
		begin:        func(time.Duration) []string { return nil },
		busy:         func(err error) bool { return sqliteCode(err, busy, locked) },
		refused:      func(err error) bool { return sqliteCode(err, busy, locked, constraint) },
		inFlight:     func(error) bool { return false }, // one writer: the wait is at BEGIN
		alive:        sqliteAlive,
		singleWriter: true,
	}
}

// Primary result codes of SQLite.
const (
	busy       = 5
	locked     = 6
	constraint = 19 // at COMMIT: a deferred foreign key
)

// sqliteCode reports whether err bears one of the codes, without importing a driver.
func sqliteCode(err error, codes ...int) bool {
	var coded interface{ Code() int }
	return errors.As(err, &coded) && slices.Contains(codes, coded.Code()&0xff)
}

// sqliteAlive: when a writing statement is interrupted (its context ended) or
// runs out of space, SQLite rolls the whole transaction back, and what follows
// runs outside any. A nested BEGIN is refused only inside a transaction.
func sqliteAlive(ctx context.Context, tx *sql.Tx) bool {
	ctx = context.WithoutCancel(ctx)
	if _, err := tx.ExecContext(ctx, "BEGIN"); err != nil {
		return true
	}
	_, _ = tx.ExecContext(ctx, "ROLLBACK")
	return false
}

const letterColumns = `id, consumer, key, fingerprint, state, reason, class, error, attempts, message_id, topic, position,
	enqueued_at, correlation_id, trace_parent, ordering_key, headers, first_failed, last_failed, replays`

const (
	// The consumers are few and their index is long: it is jumped through.
	sqliteFindRecords = `WITH RECURSIVE consumers AS (
			SELECT min(consumer) AS consumer FROM {inbox}
			UNION ALL
			SELECT (SELECT min(i.consumer) FROM {inbox} i WHERE i.consumer > c.consumer) FROM consumers c WHERE c.consumer IS NOT NULL
		)
		SELECT i.consumer, i.status, i.fingerprint, i.token, i.attempts, i.last_error, i.result, i.message_id, i.source,
			coalesce(i.lease_until - {now}, 0), i.first_seen, coalesce(i.first_failed, 0), i.expires_at
		FROM consumers c JOIN {inbox} i ON i.consumer = c.consumer AND i.key = $1 ORDER BY i.consumer`
	sqliteListOutbox = `SELECT seq, id, topic, key, coalesce(length(payload), 0), attempts,
			max(due_at, held_until) - {now}, CASE WHEN lease IS NOT NULL AND held_until > {now} THEN 1 ELSE 0 END
		FROM {outbox} WHERE published_at IS NULL ORDER BY seq LIMIT $1`
)

// leasable: nobody has the row, nor an older one of its topic and key.
const leasable = `r.published_at IS NULL AND r.held_until <= {now}
	AND (r.key IS NULL OR NOT EXISTS (SELECT 1 FROM {outbox} o
		WHERE o.topic = r.topic AND o.key = r.key AND o.seq < r.seq AND o.published_at IS NULL AND o.held_until > {now}))`

// sqliteStatements is a constant in all but name.
var sqliteStatements = statements{
	createSchema:    `CREATE TABLE IF NOT EXISTS {schema} (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)`,
	schemaVersion:   `SELECT coalesce(max(version), 0) FROM {schema}`,
	recordMigration: `INSERT INTO {schema} (version, name, applied_at) VALUES (?1, ?2, {now})`,

	// One row affected: the key is new, or was forgotten and begins anew.
	claim: `INSERT INTO {inbox} (consumer, key, status, fingerprint, token, attempts, last_error, message_id, source,
			first_seen, updated_at, expires_at)
		VALUES (?1, ?2, 'pending', ?3, ?4, 0, '', ?5, ?6, {now}, {now}, {now} + ?7)
		ON CONFLICT (consumer, key) DO UPDATE SET
			status = excluded.status, fingerprint = excluded.fingerprint, token = excluded.token, attempts = 0, last_error = '',
			message_id = excluded.message_id, source = excluded.source, result = NULL, lease_until = NULL,
			first_seen = excluded.first_seen, first_failed = NULL, updated_at = excluded.updated_at, expires_at = excluded.expires_at
		WHERE {inbox}.expires_at <= excluded.updated_at`,
	read: `SELECT status, fingerprint, token, attempts, last_error, result, message_id, source, lease_until - {now}, first_seen, first_failed
		FROM {inbox} WHERE consumer = ?1 AND key = ?2`,
	save: `UPDATE {inbox} SET status = ?3, fingerprint = ?4, token = ?5, message_id = ?6, source = ?7, attempts = ?8,
			last_error = CASE WHEN ?9 = '' THEN last_error ELSE ?9 END,
			first_failed = CASE WHEN ?9 = '' THEN first_failed ELSE coalesce(first_failed, {now}) END,
			result = ?10, lease_until = CASE WHEN ?11 > 0 THEN {now} + ?11 END,
			updated_at = {now}, expires_at = {now} + max(?11, ?12)
		WHERE consumer = ?1 AND key = ?2`,
	sweepInbox: `DELETE FROM {inbox} WHERE (consumer, key) IN
		(SELECT consumer, key FROM {inbox} WHERE expires_at <= {now} ORDER BY expires_at LIMIT ?1)`,

	// Due times never fall within a topic and key, so the order by due time
	// is also the order of writing, and a LIMIT takes the oldest of a key.
	emit: `INSERT INTO {outbox} (id, topic, key, headers, payload, created_at, due_at)
		VALUES (?1, ?2, ?3, ?4, ?5, {now}, max({now} + ?6, coalesce((SELECT due_at FROM {outbox}
			WHERE topic = ?2 AND key = ?3 AND published_at IS NULL ORDER BY seq DESC LIMIT 1), 0)))
		ON CONFLICT DO NOTHING`,
	leasable: `SELECT r.seq FROM {outbox} r WHERE r.due_at <= {now} AND ` + leasable + `
		ORDER BY r.due_at, r.seq LIMIT ?1`,
	lease: `UPDATE {outbox} AS r SET lease = ?1, held_until = {now} + ?2, attempts = attempts + 1
		WHERE r.seq IN (SELECT value FROM json_each(?3)) AND ` + leasable + `
		RETURNING seq, id, topic, key, headers, payload, attempts - 1`,
	published: `DELETE FROM {outbox} WHERE seq = ?1 AND lease = ?2 AND published_at IS NULL`,
	publishedKeep: `UPDATE {outbox} SET published_at = {now}, headers = x'', payload = NULL
		WHERE seq = ?1 AND lease = ?2 AND published_at IS NULL`,
	postponed: `UPDATE {outbox} SET lease = NULL, held_until = {now} + ?3
		WHERE seq = ?1 AND lease = ?2 AND published_at IS NULL`,
	depth: `SELECT count(*), max(0, coalesce({now} - min(due_at), 0)) FROM {outbox} WHERE published_at IS NULL`,
	sweepOutbox: `DELETE FROM {outbox} WHERE seq IN
		(SELECT seq FROM {outbox} WHERE published_at <= {now} - ?2 ORDER BY published_at LIMIT ?1)`,

	park: `INSERT INTO {dead_letters} AS d (` + letterColumns + `, edits, updated_at, payload)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
			coalesce(?18, ?19, {now}), coalesce(?19, {now}), ?20, ?21, {now}, ?22)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, class = excluded.class, error = excluded.error,
			attempts = excluded.attempts, last_failed = excluded.last_failed WHERE d.state <> 'parked'`,
	getLetter:     `SELECT ` + letterColumns + `, edits, original, payload FROM {dead_letters} WHERE id = ?1`,
	listLetters:   `SELECT ` + letterColumns + `, edits, NULL, NULL FROM {dead_letters}`,
	letterSeq:     `SELECT seq FROM {dead_letters} WHERE id = ?1`,
	countLetters:  `SELECT count(*), max(0, coalesce({now} - min(last_failed), 0)) FROM {dead_letters} INDEXED BY {dead_letters}_parked WHERE state = 'parked'`,
	countMatching: `SELECT count(*) FROM {dead_letters}`,
	lockLetter:    `UPDATE {dead_letters} SET updated_at = {now} WHERE id = ?1`,
	moveLetter:    `UPDATE {dead_letters} SET state = ?2, replays = replays + ?3 WHERE id = ?1`,
	editLetter: `UPDATE {dead_letters} SET payload = ?2, original = CASE WHEN edits = 0 THEN payload ELSE original END,
		edits = edits + 1, updated_at = {now} WHERE id = ?1`,
}
