CREATE TABLE {queue_messages} (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	topic       TEXT NOT NULL,
	uuid        TEXT NOT NULL,
	enqueued_at INTEGER NOT NULL DEFAULT ({now}),
	key         BLOB,
	headers     BLOB,
	payload     BLOB
) STRICT;
CREATE INDEX {queue_messages_age} ON {queue_messages} (enqueued_at);

CREATE TABLE {queue_groups} (
	id    INTEGER PRIMARY KEY,
	topic TEXT NOT NULL,
	name  TEXT NOT NULL,
	UNIQUE (topic, name)
) STRICT;

-- What a group has not acknowledged. state is
--   0: behind an older one of its key, 1: ready, 2: leased or delayed until due_at.
-- The states spare a claim in order from looking at what waits behind a key.
CREATE TABLE {queue_deliveries} (
	message_id INTEGER NOT NULL REFERENCES {queue_messages} ON DELETE CASCADE,
	group_id   INTEGER NOT NULL REFERENCES {queue_groups} ON DELETE CASCADE,
	key        BLOB,
	state      INTEGER NOT NULL,
	due_at     INTEGER NOT NULL DEFAULT 0,
	token      TEXT,
	attempt    INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (message_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX {queue_deliveries_state} ON {queue_deliveries} (group_id, state, message_id);
CREATE INDEX {queue_deliveries_due} ON {queue_deliveries} (group_id, due_at) WHERE state = 2;
CREATE INDEX {queue_deliveries_key} ON {queue_deliveries} (group_id, key, message_id) WHERE key IS NOT NULL;

CREATE TRIGGER {queue_fan_out} AFTER INSERT ON {queue_messages} BEGIN
	INSERT INTO {queue_deliveries} (message_id, group_id, key, state)
	SELECT NEW.id, g.id, NEW.key, NEW.key IS NULL OR NOT EXISTS (
		SELECT 1 FROM {queue_deliveries} d WHERE d.group_id = g.id AND d.key = NEW.key)
	FROM {queue_groups} g WHERE g.topic = NEW.topic;
END;

CREATE TRIGGER {queue_next_of_key} AFTER DELETE ON {queue_deliveries} WHEN OLD.key IS NOT NULL BEGIN
	UPDATE {queue_deliveries} SET state = 1
	WHERE state = 0 AND group_id = OLD.group_id AND message_id = (
		SELECT min(message_id) FROM {queue_deliveries} WHERE group_id = OLD.group_id AND key = OLD.key);
END;
