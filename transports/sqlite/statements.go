package sqlite

// The statements, with {name} for the prefixed name of a table and {now} for
// the clock in milliseconds. All but fillGroup find their rows in an index.
const (
	insertMessage = `INSERT INTO {queue_messages} (topic, uuid, key, headers, payload) VALUES (?, ?, ?, ?, ?)`

	groupExists = `SELECT EXISTS (SELECT 1 FROM {queue_groups} WHERE topic = ? AND name = ?)`

	insertGroup = `INSERT INTO {queue_groups} (topic, name) VALUES (?, ?) ON CONFLICT DO NOTHING`

	// fillGroup gives a new group what is retained.
	fillGroup = `
		INSERT INTO {queue_deliveries} (message_id, group_id, key, state)
		SELECT m.id, g.id, m.key, m.key IS NULL OR row_number() OVER (PARTITION BY m.key ORDER BY m.id) = 1
		FROM {queue_messages} m JOIN {queue_groups} g ON g.topic = m.topic
		WHERE g.topic = ? AND g.name = ?`

	claimable = `
		SELECT g.id,
			EXISTS (SELECT 1 FROM {queue_deliveries} WHERE group_id = g.id AND state = 1)
			OR NOT ? AND EXISTS (SELECT 1 FROM {queue_deliveries} WHERE group_id = g.id AND state = 0)
			OR EXISTS (SELECT 1 FROM {queue_deliveries} WHERE group_id = g.id AND state = 2 AND due_at <= {now})
		FROM {queue_groups} g WHERE topic = ? AND name = ?`

	// promoteDue takes what was leased or delayed back among its kind.
	promoteDue = `
		UPDATE {queue_deliveries} AS d SET state = d.key IS NULL OR NOT EXISTS (
			SELECT 1 FROM {queue_deliveries} o WHERE o.group_id = d.group_id AND o.key = d.key AND o.message_id < d.message_id)
		WHERE group_id = ? AND state = 2 AND due_at <= {now}`

	readState = `
		SELECT m.id, m.uuid, m.enqueued_at, m.headers, m.key, m.key IS NULL, m.payload, m.payload IS NULL, d.attempt + 1
		FROM {queue_deliveries} d JOIN {queue_messages} m ON m.id = d.message_id
		WHERE d.group_id = ? AND d.state = ? ORDER BY d.message_id LIMIT ?`

	lease = `
		UPDATE {queue_deliveries} SET state = 2, due_at = {now} + ?, token = ?, attempt = attempt + 1
		WHERE message_id = ? AND group_id = ?`

	nextDue = `
		SELECT min(due_at) - {now} FROM {queue_deliveries}
		WHERE state = 2 AND group_id = (SELECT id FROM {queue_groups} WHERE topic = ? AND name = ?)`

	// A token is one claim's, so that it also tells the group.
	acknowledge = `DELETE FROM {queue_deliveries} WHERE message_id = ? AND token = ?`

	release = `
		UPDATE {queue_deliveries} SET state = 2, due_at = {now} + ?, token = NULL, attempt = attempt - ?
		WHERE message_id = ? AND token = ?`

	extend = `UPDATE {queue_deliveries} SET state = 2, due_at = {now} + ? WHERE message_id = ? AND token = ?`

	selectOld = `SELECT id FROM {queue_messages} m WHERE enqueued_at <= {now} - ? AND ` + unwanted + ` LIMIT ?`
	deleteOld = `DELETE FROM {queue_messages} AS m WHERE id = ? AND ` + unwanted
	unwanted  = `NOT EXISTS (SELECT 1 FROM {queue_deliveries} d WHERE d.message_id = m.id)`

	depth = `
		WITH d AS (
			SELECT count(*) AS n, min(message_id) AS oldest FROM {queue_deliveries}
			WHERE group_id = (SELECT id FROM {queue_groups} WHERE topic = ? AND name = ?))
		SELECT d.n, coalesce({now} - m.enqueued_at, 0) FROM d LEFT JOIN {queue_messages} m ON m.id = d.oldest`

	ping = `SELECT count(*) FROM {queue_version}`
)

var statements = []string{
	insertMessage, groupExists, insertGroup, fillGroup, claimable, promoteDue, readState, lease, nextDue,
	acknowledge, release, extend, selectOld, deleteOld, depth, ping,
}
